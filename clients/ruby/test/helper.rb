# frozen_string_literal: true

# Real parts for every test: a redis-server of its own, worker processes, a proxy that cuts connections.
$LOAD_PATH.unshift File.expand_path("../lib", __dir__)
require "minitest"
require "open3"
require "pshub"
require "rbconfig"
require "socket"
require "tmpdir"
require "fileutils"

ROOT = File.expand_path("../../..", __dir__)
Pshub.logger = Logger.new(IO::NULL)
# A thread of the client that ends by an exception is a fault, whatever the test looks at.
Thread.abort_on_exception = true

module Support
  module_function

  # A golden file of all languages.
  def vectors(name) = JSON.parse(File.read(File.join(ROOT, "clients/vectors", name)), max_nesting: 0)

  def free_port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }

  # What the block returns once that is something; a condition instead of a sleep.
  def eventually(what = "it", patience: 30)
    finish = Pshub::Clock.now + patience
    loop do
      found = yield
      return found if found
      raise Minitest::Assertion, "#{what} did not happen within #{patience} s" if Pshub::Clock.now > finish

      sleep 0.01
    end
  end

  # A redis-server on a free port, in a directory of its own.
  class Server
    attr_reader :url, :port, :client, :pid

    # A port that was free a moment ago may be another's by now: many tests start servers at the same time.
    class PortTaken < StandardError; end
    MOST_PORTS = 5

    def initialize(*arguments)
      @dir = Dir.mktmpdir("pshub-redis-")
      tries = 0
      begin
        @port = Support.free_port
        @url = "redis://127.0.0.1:#{@port}"
        @client = Redis.new(url: @url, reconnect_attempts: 1)
        start(*arguments)
      rescue PortTaken
        @client.close
        (tries += 1) < MOST_PORTS ? retry : raise
      end
    end

    def start(*arguments)
      program = ENV.fetch("PSHUB_TEST_SERVER", "redis-server")
      options = ["--port", @port.to_s, "--bind", "127.0.0.1", "--dir", @dir, "--save", "", "--appendonly", "no"]
      @pid = Process.spawn(program, *options, *arguments, out: IO::NULL)
      Support.eventually("the start of redis-server") { up? || look_for_end }
    end

    def kill
      return unless @pid

      Process.kill("KILL", @pid)
      Process.wait(@pid)
      @pid = nil
    end

    def close
      @client.close
      kill
      FileUtils.rm_rf(@dir)
    end

    def held = @client.scan_each(match: "pshub:*:held:*").sort
    def held_count = held.sum { |key| @client.hlen(key) }
    def waiting = @client.llen("pshub:{default}:calls")

    # As whoever writes it by hand.
    def push(*requests)
      @client.rpush("pshub:{default}:calls", requests)
      @client.rpush("pshub:{default}:bell", 1)
    end

    # Whether a worker's blocking connection waits for the bell.
    def worker_waits? = waits?("worker")

    # Whether a hub's blocking connection waits for a reply.
    def hub_waits? = waits?("hub")

    # Keys that stay when hubs and workers are gone, but for the cards of tasks, and those that go by themselves.
    def leftovers = @client.scan_each.select { |key| !%w[pshub:tasks pshub:queues].include?(key) && @client.ttl(key) == -1 }.sort

    private

    def waits?(owner)
      @client.call("CLIENT", "LIST").lines.any? { |line| line.match?(/name=pshub-#{owner}-blocking .*flags=b/) }
    end

    # And it is this one that answers.
    def up?
      @client.ping && @client.info("server")["process_id"].to_i == @pid
    rescue Redis::BaseConnectionError
      false
    end

    def look_for_end
      return unless Process.wait(@pid, Process::WNOHANG)

      @pid = nil
      raise PortTaken, "redis-server ended by itself; its port #{@port} may be another's"
    end
  end

  # Stands before Redis, loses what it is told to lose, and cuts connections.
  class Proxy
    attr_reader :url
    # Answers of the server are swallowed, on all connections; so many bytes of them pass in a second, on each.
    attr_accessor :loses_answers, :rate
    # From the moment on when this text goes to the server, answers are swallowed: what is asked before that is answered, however
    # long it takes.
    attr_writer :loses_answers_from

    def initialize(port)
      @target = port
      @listener = TCPServer.new("127.0.0.1", 0)
      @url = "redis://127.0.0.1:#{@listener.addr[1]}"
      @sockets = []
      @accepting = Thread.new { accept }
    end

    def cut
      sockets, @sockets = @sockets, []
      sockets.each { |socket| shut(socket) }
    end

    def close
      @accepting.kill
      @listener.close
      cut
    end

    private

    def accept
      loop do
        client = @listener.accept
        server = TCPSocket.new("127.0.0.1", @target)
        @sockets += [client, server]
        Thread.new { pass(client, server, false) }
        Thread.new { pass(server, client, true) }
      rescue SystemCallError
        client&.close
      end
    end

    def pass(source, target, answers)
      while (data = source.readpartial(65_536))
        @loses_answers, @loses_answers_from = true, nil if !answers && @loses_answers_from && data.include?(@loses_answers_from)
        next if answers && @loses_answers

        answers && @rate ? trickle(data, target) : target.write(data)
      end
    rescue IOError, SystemCallError
      [source, target].each { |socket| shut(socket) }
    end

    def trickle(data, target)
      data.scan(/.{1,#{@rate / 20}}/mn) do |part|
        target.write(part)
        sleep 0.05
      end
    end

    def shut(socket)
      socket.shutdown
    rescue IOError, SystemCallError
      nil
    end
  end

  # exe/pshub-worker-rb with test/tasks.rb, in a process of its own.
  class WorkerProcess
    COMMAND = [
      RbConfig.ruby, "-I", File.expand_path("../lib", __dir__), File.expand_path("../exe/pshub-worker-rb", __dir__),
      File.expand_path("tasks.rb", __dir__)
    ].freeze

    attr_reader :pid

    def initialize(server, *arguments)
      @log = File.join(Dir.mktmpdir("pshub-worker-"), "log")
      @pid = Process.spawn(*COMMAND, "--redis", server.url, *arguments, err: @log)
      Support.eventually("the worker's registration", patience: 20) do
        raise Minitest::Assertion, said if gone?

        server.client.hvals("pshub:workers").any? { |card| card.include?(%("pid":#{@pid},)) }
      end
    end

    def said = File.read(@log)
    def signal(name) = Process.kill(name, @pid)

    def gone?
      @status ||= Process.wait2(@pid, Process::WNOHANG)&.last
      !@status.nil?
    end

    # Its exit status.
    def wait(patience = 15)
      Support.eventually("the worker's end", patience: patience) { gone? }
      @status.exitstatus
    end

    def close
      unless gone?
        signal("KILL")
        Process.wait(@pid)
      end
      FileUtils.rm_rf(File.dirname(@log))
    end
  end
end

# Ends what a test started, whatever becomes of it.
class PshubTest < Minitest::Test
  include Support

  # One server for all tests that do not stop theirs.
  def self.shared_server = @@shared_server ||= Server.new.tap { |server| Minitest.after_run { server.close } } # rubocop:disable Style/ClassVars

  def setup
    @endings = []
  end

  def teardown
    @endings.reverse_each(&:call)
  end

  # Empty at the start.
  def server
    @server ||= PshubTest.shared_server.tap { |server| server.client.flushall }
  end

  # For tests that stop it.
  def own_server
    @server ||= ending(Server.new, :close)
  end

  def proxy = ending(Proxy.new(server.port), :close)
  def hub(url = server.url, **options) = ending(Pshub::Hub.new(redis: url, **options), :close)
  def worker_process(*arguments) = ending(WorkerProcess.new(server, *arguments), :close)

  def worker(*tasks, url: server.url, **options)
    ending(Pshub::Worker.new(redis: url, tasks: tasks, **options).start, :stop)
  end

  # A task that no other test knows of.
  def declare(name, args: nil, result: nil, description: "", timeout: 5, idempotent: false, **jobs, &handler)
    Pshub::Task.new(name, args, result, description, timeout, idempotent, handler, **jobs)
  end

  def adder = declare("add:1.0") { |args| args["x"] + 2 }

  private

  def ending(thing, name)
    @endings << -> { thing.public_send(name) }
    thing
  end
end
