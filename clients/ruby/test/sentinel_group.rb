# frozen_string_literal: true

module Support
  # A master, its replica, and the sentinels that watch over them.
  class SentinelGroup
    NAME = "mymaster"

    # A redis-server as a sentinel. One that hears nothing of its master for a second takes it for down.
    class Sentinel
      attr_reader :port, :pid, :client

      def initialize(master)
        @port = Support.own_port
        @dir = Dir.mktmpdir("pshub-sentinel-")
        path = File.join(@dir, "sentinel.conf")
        File.write(path, <<~CONFIG)
          port #{@port}
          bind 127.0.0.1
          dir #{@dir}
          sentinel monitor #{NAME} 127.0.0.1 #{master} 2
          sentinel down-after-milliseconds #{NAME} 1000
          sentinel failover-timeout #{NAME} 4000
        CONFIG
        @pid = Process.spawn(ENV.fetch("PSHUB_TEST_SERVER", "redis-server"), path, "--sentinel", out: IO::NULL)
        @client = Redis.new(url: "redis://127.0.0.1:#{@port}", timeout: 1)
      end

      # What it knows of the master; empty while it cannot be asked.
      def state
        @client.call("SENTINEL", "master", NAME).each_slice(2).to_h
      rescue Redis::BaseError
        {}
      end

      def close
        @client.close
        Process.kill("KILL", @pid)
        Process.wait(@pid)
        FileUtils.rm_rf(@dir)
      end
    end

    attr_reader :master, :replica, :sentinels

    def initialize
      @master = Server.new("--repl-diskless-sync-delay", "0")
      @replica = Server.new("--replicaof", "127.0.0.1", @master.port.to_s)
      Support.eventually("the replica") { @replica.client.info("replication")["master_link_status"] == "up" }
      @sentinels = Array.new(3) { Sentinel.new(@master.port) }
      Support.eventually("the sentinels") do
        @sentinels.all? { |each| each.state.values_at("num-other-sentinels", "num-slaves") == %w[2 1] }
      end
    end

    def url = "redis+sentinel://#{@sentinels.map { |each| "127.0.0.1:#{each.port}" }.join(',')}/#{NAME}"

    def signal(name) = Process.kill(name, @master.pid)

    # Returns when some sentinel tells of the new master.
    def until_moved
      Support.eventually("the failover") { @sentinels.any? { |each| each.state["port"] == @replica.port.to_s } }
    end

    def close
      [*@sentinels, @master, @replica].each(&:close)
    end
  end
end
