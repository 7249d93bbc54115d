# frozen_string_literal: true

require_relative "helper"
require_relative "cluster_nodes"

# Jobs whose queues are at different nodes of a Cluster, and what is done of them from one queue in another.
class TestClusterJobs < ClusterTest
  def calling = @calling ||= hub(cluster.url)

  def tasks
    [
      declare("add:1.0") { |args| args["x"] + args.fetch("y", 1) },
      declare("fail:1.0", retries: 1, backoff: 10) { |_| raise "wrong" }
    ]
  end

  def setup
    super
    @problems = Thread::Queue.new
    queues.each do |queue|
      serving = Pshub::Worker.new(redis: cluster.url, tasks: tasks, queue: queue)
      serving.events.on("problem") { |event| @problems << event }
      ending(serving.start, :stop)
    end
  end

  def teardown
    super
    assert_empty cluster.held
    # On a busy machine its nodes may hold each other for dead.
    assert_empty(drained(@problems).reject { |event| event[:reason].include?("CLUSTERDOWN") })
  end

  def drained(queue) = Array.new(queue.size) { queue.pop }

  def test_jobs_with_results_at_each_node
    jobs = Array.new(30) { |n| calling.enqueue("add:1.0", { x: n }, queue: queues[n % 3], tracked: true) }
    assert_equal Array.new(30) { |n| n + 1 }, jobs.map(&:result)
    assert_equal "done", calling.job(jobs[1].id).status.state
    many = calling.enqueue_many(Array.new(300) { |n| ["add:1.0", { x: n }, { queue: queues[n % 3] }] })
    assert_equal 300, many.ids.uniq.size
  end

  def test_a_chain_from_node_to_node
    steps = [["add:1.0", { x: 1 }, { queue: queues.first }]]
    steps += (1..6).map { |n| ["add:1.0", {}, { queue: queues[n % 3], pass: "x" }] }
    assert_equal 8, calling.chain(steps).result
    eventually { cluster.held.empty? }
    eventually { cluster.keys("*:came:*").empty? }
  end

  def test_a_batch_over_all_nodes
    entries = Array.new(30) { |n| ["add:1.0", { x: n }, { queue: queues[n % 3] }] }
    after, failed = [100, -1].map { |x| ["add:1.0", { x: x }, { tracked: true, queue: queues[1] }] }
    assert_equal 101, calling.batch(entries, then: after, failed: failed).after.result
    badly = calling.batch([*entries, ["fail:1.0", {}, { queue: queues[2] }]], then: after, failed: failed)
    assert_equal 0, badly.failed.result
  end
end
