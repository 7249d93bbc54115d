# frozen_string_literal: true

require_relative "helper"
require_relative "cluster_nodes"

# Queues on the nodes of a Cluster: calls, and how it is found.
class TestCluster < ClusterTest
  def doubler = declare("double:1.0", idempotent: true) { |args| args["n"] * 2 }

  # Each begins at a node of its own.
  def serve(*tasks)
    queues.zip(cluster.masters.reverse) { |queue, node| worker(*tasks, url: node.url, queue: queue) }
  end

  def teardown
    super
    assert_empty cluster.held
  end

  def test_calls_to_queues_of_all_nodes
    serve(doubler)
    calling = hub(cluster.url)
    queues.each_with_index { |queue, n| assert_equal 2 * n, calling.call("double:1.0", { n: n }, queue: queue) }
    pending = Array.new(300) { |n| calling.submit("double:1.0", { n: n }, queue: queues[n % 3]) }
    assert_equal Array.new(300) { |n| 2 * n }, pending.map(&:result)
  end
end
