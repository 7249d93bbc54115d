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

  # Reserves a port for this process: nothing else can take it between now and the moment when a server binds it. The port lies below
  # the range from which the system chooses, and a lock on a file keeps other test processes away from it.
  module Ports
    FOLDER = File.join(Dir.tmpdir, "pshub-test-ports-#{Process.uid}")
    RANGE = (14_000...30_000)
    @locks = []

    def self.take
      FileUtils.mkdir_p(FOLDER)
      loop do
        port = rand(RANGE)
        lock = File.open(File.join(FOLDER, port.to_s), File::CREAT | File::RDWR)
        return port.tap { @locks << lock } if lock.flock(File::LOCK_EX | File::LOCK_NB) && free?(port)

        lock.close
      end
    end

    def self.free?(port)
      TCPServer.new("127.0.0.1", port).close
      true
    rescue SystemCallError
      false
    end
  end

  def own_port = Ports.take

  # A deliberate wait. +why+ says which real time passes here and why no event can be awaited instead.
  def delay(seconds, _why) = sleep(seconds)

  # Waits until the block returns something true, and returns that. The limit only ends tests that would never end.
  def eventually(what = "it", patience: 60)
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + patience
    loop do
      found = yield
      return found if found
      raise Minitest::Assertion, "#{what} did not happen within #{patience} s" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish

      delay 0.01, "the interval between two looks"
    end
  end

  # A redis-server on a free port, in a directory of its own.
  class Server
    attr_reader :url, :port, :client, :pid

    def initialize(*arguments)
      @dir = Dir.mktmpdir("pshub-redis-")
      @port = Support.own_port
      @url = "redis://127.0.0.1:#{@port}"
      connect
      start(*arguments)
    end

    # Connects anew, as a forked child has to.
    def connect
      @client = Redis.new(url: @url, reconnect_attempts: 1)
      self
    end

    def start(*arguments)
      program = ENV.fetch("PSHUB_TEST_SERVER", "redis-server")
      options = ["--port", @port.to_s, "--bind", "127.0.0.1", "--dir", @dir, "--save", "", "--appendonly", "no"]
      @pid = Process.spawn(program, *options, *arguments, out: IO::NULL)
      Support.eventually("the start of redis-server") { up? || raise_if_ended }
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

    # SCAN may return a key twice.
    def held = @client.scan_each(match: "pshub:*:held:*").uniq.sort
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
    def leftovers = @client.scan_each.uniq.select { |key| !%w[pshub:tasks pshub:queues].include?(key) && @client.ttl(key) == -1 }.sort

    private

    def waits?(owner)
      @client.call("CLIENT", "LIST").lines.any? { |line| line.match?(/name=pshub-#{owner}-blocking .*flags=b/) }
    end

    def up?
      @client.ping
    rescue Redis::BaseConnectionError
      false
    end

    def raise_if_ended
      return unless Process.wait(@pid, Process::WNOHANG)

      @pid = nil
      raise "redis-server on port #{@port} ended by itself"
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
        Support.delay(0.05, "a slow link sends a part at a time")
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
      Support.eventually("the worker's registration") do
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
    def wait
      Support.eventually("the worker's end") { gone? }
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

  # One server for all tests of this process that do not stop theirs.
  def self.shared_server = @@shared_server ||= Server.new.tap { |server| Minitest.after_run { server.close } } # rubocop:disable Style/ClassVars

  # A server that the parent of this process started, and stops.
  def self.share(server) = @@shared_server = server.connect # rubocop:disable Style/ClassVars

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
