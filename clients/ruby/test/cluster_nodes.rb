# frozen_string_literal: true

module Support
  # A Cluster of its own: its nodes, whose signals and slots a test may set about.
  class Cluster
    Node = Struct.new(:id, :port, :pid, :client) do
      def url = "redis://127.0.0.1:#{port}"
      def call(*words) = client.call(*words)
      def signal(name) = Process.kill(name, pid)

      # Error answers so far that begin so.
      def errors(code)
        client.info("errorstats").fetch("errorstat_#{code}", "count=0")[/\d+/].to_i
      end
    end

    attr_reader :nodes, :masters

    def initialize(masters = 3, replicas = 0)
      @stdin, stdout, @running = Open3.popen2("node", File.join(ROOT, "tools/redis-cluster.mjs"), masters.to_s, replicas.to_s)
      line = stdout.gets or raise Minitest::Assertion, "the Cluster did not start"
      @nodes = JSON.parse(line)["nodes"].map do |told|
        Node.new(told["id"], told["port"], told["pid"], Redis.new(port: told["port"], timeout: 5))
      end
      @masters = @nodes.first(masters)
      @silent = []
      until_ok
    end

    def url = @nodes.first.url
    def several = "redis+cluster://#{@masters.map { |node| "127.0.0.1:#{node.port}" }.join(',')}"

    # Each node finds that the Cluster works; a busy machine may have had them doubt that.
    def until_ok
      Support.eventually("an agreement") { live.all? { |node| node.call("CLUSTER", "INFO").include?("cluster_state:ok") } }
    end

    # It is not asked by the test from here on.
    def signal(node, name)
      @silent << node unless name == "CONT"
      node.signal(name)
      @silent.delete(node) if name == "CONT"
    end

    def live = @nodes - @silent

    def owner_of_slot(slot)
      range = live.first.call("CLUSTER", "SLOTS").find { |first, last| slot.between?(first, last) }
      range && @nodes.find { |node| node.port == range[2][1] }
    end

    def owner_of(key) = owner_of_slot(Pshub::KeySlots.of(key))

    # A queue that lives there.
    def queue_of(node, start = "q") = (1..).lazy.map { |n| "#{start}#{n}" }.find { |name| owner_of("pshub:{#{name}}:calls") == node }

    # Moves what is in a slot, key by key; #settle ends it.
    def migrate(slot, to)
      owner = owner_of_slot(slot)
      to.call("CLUSTER", "SETSLOT", slot, "IMPORTING", owner.id)
      owner.call("CLUSTER", "SETSLOT", slot, "MIGRATING", to.id)
      loop do
        keys = owner.call("CLUSTER", "GETKEYSINSLOT", slot, 100)
        break if keys.empty?

        keys.each do |key|
          owner.call("MIGRATE", "127.0.0.1", to.port, key, 0, 5000)
          yield key if block_given?
        end
      end
    end

    # The new owner first: else a moment without any.
    def settle(slot, to)
      [to, *(live - [to])].each do |node|
        node.call("CLUSTER", "SETSLOT", slot, "NODE", to.id)
      rescue Redis::CommandError
        # Replicas hear of it from their masters.
        nil
      end
    end

    def move(slot, to)
      return if owner_of_slot(slot) == to

      migrate(slot, to)
      settle(slot, to)
    end

    def flush = (live & @masters).each { |node| node.client.flushall }
    def keys(pattern) = (live & @masters).flat_map { |node| node.client.scan_each(match: pattern).to_a }.uniq.sort
    def held = keys("pshub:*:held:*")

    def close
      @nodes.each do |node|
        node.client.close
        node.signal("CONT")
      rescue Errno::ESRCH
        nil
      end
      @stdin.close
      @running.join(20)
    end
  end
end

# Tests on Clusters.
class ClusterTest < PshubTest
  # One for all tests that do not stop its nodes.
  def self.shared_cluster = @@shared_cluster ||= Support::Cluster.new.tap { |made| Minitest.after_run { made.close } } # rubocop:disable Style/ClassVars

  # Empty at the start.
  def cluster = @cluster ||= ClusterTest.shared_cluster.tap { |made| made.until_ok && made.flush }

  # For tests that stop nodes.
  def own_cluster(replicas = 0) = @cluster ||= ending(Support::Cluster.new(3, replicas), :close)

  # One at each master.
  def queues = @queues ||= cluster.masters.map { |node| cluster.queue_of(node) }

  def connection(url = cluster.url) = ending(Pshub::Connection.new("test", "commands", url, 2.0, Pshub::Events.new), :close)

  # A hub that hears its replies at another node.
  def hub_hearing_elsewhere(gone)
    loop do
      made = hub(cluster.url)
      return made unless cluster.owner_of("pshub:reply:{#{made.id}}") == gone
    end
  end
end
