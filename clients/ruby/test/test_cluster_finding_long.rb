# frozen_string_literal: true

require_relative "helper"
require_relative "cluster_nodes"

# How a Cluster is found out, and what is wrong with one.
class TestClusterFinding < ClusterTest
  # The protocol's own, by role.
  RULES = File.readlines(File.join(ROOT, "PROTOCOL.md")).map(&:split).select { |words| words[0, 2] == %w[ACL SETUSER] }
              .to_h { |words| [words[2], words.drop(3)] }.freeze

  def adder = declare("add:1.0") { |args| args["x"] + 2 }

  # Makes a user at every node; returns what follows the scheme of its URL.
  def user(name, *more)
    cluster.masters.each do |node|
      node.call("ACL", "SETUSER", name, *RULES.fetch(name), *more)
      @endings << -> { node.call("ACL", "DELUSER", name) }
    end
    "#{name}:secret@127.0.0.1:#{cluster.masters.first.port}"
  end

  # At each node, as somebody who may.
  def install
    everywhere = connection
    everywhere.at("a").one("GET", "a")
    everywhere.each_master.each { |_, master| assert Pshub::Library.install(master).fit? }
  end

  def test_the_slot_of_a_key
    ["", "a", "pshub:{default}:calls", "{}a", "a{b}{c}", "{a", "a}b{c}", "ü {ö} x", "{{a}}"].each do |key|
      assert_equal cluster.masters.first.call("CLUSTER", "KEYSLOT", key), Pshub::KeySlots.of(key), key
    end
  end

  def test_the_rights_of_the_protocol_are_enough
    install
    hub_at, worker_at = user("pshub-hub"), user("pshub-worker")
    worker(adder, url: "redis://#{worker_at}", queue: queues[1])
    assert_equal 3, hub("redis+cluster://#{hub_at}").call("add:1.0", { x: 1 })
  end

  def test_a_server_that_is_no_cluster_is_told
    error = assert_raises(Pshub::NotEnqueued) { hub("redis+cluster://127.0.0.1:#{server.port}").call("add:1.0", { x: 1 }) }
    assert_match(/cluster support disabled/, error.message)
  end

  def test_nodes_that_are_all_gone_are_told
    gone = Support.own_port
    error = assert_raises(Pshub::NotEnqueued) { hub("redis+cluster://127.0.0.1:#{gone}").call("add:1.0", { x: 1 }) }
    assert_match(/no node reports its slots: .*127.0.0.1:#{gone}/, error.message)
  end

  def test_the_first_nodes_may_be_gone
    nodes = "redis+cluster://127.0.0.1:#{Support.own_port},127.0.0.1:#{cluster.masters[1].port}"
    worker(adder, url: nodes, queue: queues.first)
    assert_equal 3, hub(nodes).call("add:1.0", { x: 1 })
  end

  def test_each_master_is_looked_at
    other = cluster.masters.last
    other.client.config("SET", "maxmemory-policy", "allkeys-lru")
    @endings << -> { other.client.config("SET", "maxmemory-policy", "noeviction") }
    error = assert_raises(Pshub::ConfigError) { worker(adder, url: cluster.url, queue: queues.first) }
    assert_match(/node 127.0.0.1:#{other.port}: maxmemory-policy is allkeys-lru/, error.message)
  end

  def test_the_library_is_loaded_where_it_is_missing
    queues.each { |queue| worker(adder, url: cluster.url, queue: queue) }
    calling = hub(cluster.url)
    queues.zip(cluster.masters) do |queue, node|
      node.call("FUNCTION", "FLUSH", "SYNC")
      assert_equal 3, calling.call("add:1.0", { x: 1 }, queue: queue)
      assert_match(/pshub/, node.call("FUNCTION", "LIST").flatten.join(" "))
    end
  end

  def test_each_command_goes_to_the_node_of_its_key
    keys = queues.map { |queue| "pshub:{#{queue}}:x" }
    spread = connection
    answers = spread.run(*keys.map { |key| ["SET", key, key] }, *keys.map { |key| ["GET", key] })
    assert_equal (["OK"] * 3) + keys, answers
    keys.each { |key| assert_in_delta Time.now.to_f * 1000, spread.at(key).now_ms, 5000 }
    assert_equal [1, 1, 1], keys.zip(cluster.masters).map { |key, node| node.call("EXISTS", key) }
  end

  def test_nobody_asks_for_slots_any_more_when_all_is_closed
    cluster
    before = Thread.list.size
    calling = hub(cluster.url)
    calling.enqueue("add:1.0", { x: 0 }, queue: queues.first)
    assert_operator Thread.list.size, :>, before
    calling.close
    eventually("the end of the threads") { Thread.list.size <= before }
  end
end
