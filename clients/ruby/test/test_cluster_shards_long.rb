# frozen_string_literal: true

require_relative "helper"
require_relative "cluster_nodes"
require_relative "sharded"

# A queue with a shard on each master of a Cluster, and its workers.
class TestClusterShards < ClusterTest
  include Sharded

  def link = super(cluster.url)

  # The queue itself, and a shard on each other master.
  def names
    @names ||= begin
      here = cluster.owner_of("pshub:{default}:calls")
      others = (cluster.masters - [here]).map do |node|
        (2..).lazy.map { |n| "shard.#{n}.default" }.find { |name| cluster.owner_of("pshub:{#{name}}:calls") == node }
      end
      ["default", *others]
    end
  end

  def owner_of_place(name) = cluster.owner_of("pshub:{#{name}}:calls")
  def places = cluster.owner_of("pshub:workers").client.hvals("pshub:workers").map { |card| JSON.parse(card)["queue"] }.sort

  def serve(*tasks, count: 3, **options)
    worker(*tasks, url: cluster.url, **options).tap { eventually("all shards") { places.size == count } }
  end

  def connections(name)
    cluster.live.sum { |node| node.call("CLIENT", "LIST").lines.grep(/name=#{name} /).size }
  end

  def test_one_worker_runs_what_is_at_each_node_with_its_slots
    spread(1, names)
    serving = serve(stay, slots: 3, job_slots: 3)
    settled = Thread::Queue.new
    serving.events.on("task:settled") { |event| settled << event[:queue] }
    calling = hub(cluster.url)
    jobs = Array.new(12) { |n| calling.enqueue("stay:1.0", { n: n }, tracked: true) }
    calls = Array.new(12) { |n| calling.submit("stay:1.0", { n: n }, timeout: 30) }
    eventually("the claims") { @running == 3 }
    assert_equal 3, cluster.held.sum { |key| cluster.owner_of(key).client.hlen(key) }
    @going_on.set
    assert_equal((0...12).to_a * 2, [*jobs.map { |job| job.result(timeout_ms: 30_000) }, *calls.map(&:result)])
    assert_equal [3, names.sort], [@most, Array.new(settled.size) { settled.pop }.uniq.sort]
    # For commands one to each node, and one for each place that waits for its bells.
    eventually("the waits") { connections("pshub-worker-blocking") == 3 }
    assert_equal 3, connections("pshub-worker-commands")
    serving.stop
    calling.close
    assert_empty cluster.held + cluster.keys("*:leases")
  end

  def test_a_node_that_is_away_keeps_nothing_of_the_others
    # The last one has nothing that calls of the others need.
    silent = own_cluster.masters.last
    away, other = names.drop(1).partition { |name| owner_of_place(name) == silent }.map(&:first)
    spread(1, names)
    @going_on.set
    serve(stay, slots: 2)
    calling = hub_hearing_elsewhere(silent)
    call = ->(n, queue) { calling.call("stay:1.0", { n: n }, queue: queue, timeout: 15) }
    20.times { |n| assert_equal n, call[n, "default"] }
    cluster.signal(silent, "STOP")
    # Before it is noticed, and after that.
    50.times { |n| assert_equal n, call[n, other] }
    cluster.signal(silent, "CONT")
    eventually("its return") do
      call[1, away] == 1
    rescue Pshub::HubError
      false
    end
  end
end
