# frozen_string_literal: true

# Real parts for every test: a redis-server of its own, worker processes, a proxy that cuts connections.
$LOAD_PATH.unshift File.expand_path("../lib", __dir__)
require "minitest"
require "open3"
require "pshub"
require "pshub/cli"
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

  # Runs the command in a fork, which starts sooner than a new Ruby does. Returns what it says and its exit code.
  def program(*arguments, env: {}, folder: Dir.pwd)
    reader, writer = IO.pipe
    child = fork do
      [$stdout, $stderr].each { |stream| stream.reopen(writer) }
      ENV.update(env)
      Dir.chdir(folder)
      code = begin
        Pshub::CLI.main(arguments)
      rescue SystemExit => e
        e.status
      end
      $stdout.flush
      exit!(code)
    end
    writer.close
    [reader.read, Process.wait2(child).last.exitstatus]
  end

  # Holds up handlers in other processes until #open: they wait for the file.
  class Gate
    attr_reader :path

    def initialize
      @dir = Dir.mktmpdir("pshub-gate-")
      @path = File.join(@dir, "open")
    end

    def open = FileUtils.touch(@path)
    def close = FileUtils.rm_rf(@dir)
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

require_relative "servers"

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
    owned_by_all if @shares && passed? && !@strangers
  end

  # For a test that ends with keys in Redis that nobody owns, put there by hand.
  def allow_strangers = @strangers = true

  UNOWNED = File.read(File.join(ROOT, "test/support/unowned.lua"))

  # Nothing lies there for ever that nobody owns. What was killed just now has come to its end soon.
  def owned_by_all
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 2
    until (wrong = @server.client.eval(UNOWNED, argv: ["pshub"])).empty?
      late = Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish
      flunk("Nobody owns what is left for ever:\n#{wrong.first(20).join("\n")}") if late
      delay 0.02, "the interval between two looks"
    end
  end

  # Empty at the start.
  def server
    @shares = @server.nil? || @shares
    @server ||= PshubTest.shared_server.tap { |server| server.client.flushall }
  end

  # For tests that stop it.
  def own_server
    @server ||= ending(Server.new, :close)
  end

  def gate = ending(Gate.new, :close)
  def proxy = ending(Proxy.new(server.port), :close)
  def hub(url = server.url, **options) = ending(Pshub::Hub.new(redis: url, **options), :close)
  def worker_process(*arguments) = ending(WorkerProcess.new(server, *arguments), :close)

  def worker(*tasks, url: server.url, **options)
    ending(Pshub::Worker.new(redis: url, tasks: tasks, **options).start, :stop)
  end

  # A task that no other test knows of.
  def declare(name, args: nil, result: nil, description: "", timeout: 60, idempotent: false, **jobs, &handler)
    Pshub::Task.new(name, args, result, description, timeout, idempotent, handler, **jobs)
  end

  def adder = declare("add:1.0") { |args| args["x"] + 2 }

  private

  def ending(thing, name)
    @endings << -> { thing.public_send(name) }
    thing
  end
end
