# frozen_string_literal: true

require_relative "helper"
require_relative "cluster_nodes"

# Queues on the nodes of a Cluster: calls, and how it is found.
class TestCluster < ClusterTest
  def doubler = declare("double:1.0", idempotent: true) { |args| args["n"] * 2 }

  def outer
    declare("outer:1.0") { |args, context| context.call("double:1.0", { n: args["n"] }, queue: args["queue"]) }
  end

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

  def test_every_way_to_name_it
    serve(doubler)
    nodes = cluster.masters.map { |node| { host: "127.0.0.1", port: node.port } }
    [nodes.last, { url: cluster.url }, cluster.several, { cluster: nodes }].each do |target|
      calling = hub(target)
      assert_equal [0, 2, 4], queues.each_with_index.map { |queue, n| calling.call("double:1.0", { n: n }, queue: queue) }
    end
  end

  def test_nested_calls_from_node_to_node
    serve(doubler, outer)
    calling = hub(cluster.several)
    queues.each_index do |at|
      assert_equal 2 * at, calling.call("outer:1.0", { n: at, queue: queues[at - 1] }, queue: queues[at])
    end
  end

  def test_a_hub_leaves_nothing
    serve(doubler)
    calling = hub(cluster.url)
    assert_equal 2, calling.call("double:1.0", { n: 1 }, queue: queues[1])
    calling.close
    assert_empty cluster.keys("*#{calling.id}*")
  end
end
