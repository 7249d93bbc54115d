# frozen_string_literal: true

module Support
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
end
