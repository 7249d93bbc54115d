# frozen_string_literal: true

require_relative "helper"
require_relative "cluster_nodes"

# Slots that move from node to node, with calls and jobs in them.
class TestClusterMoves < ClusterTest
  def runs = @runs ||= Thread::Queue.new
  def ran = @ran ||= []
  def queue = queues.first
  def slot = @slot ||= Pshub::KeySlots.of("pshub:{#{queue}}:calls")
  def away = @away ||= cluster.masters.find { |node| node != @home }
  def call(number) = @calling.call("mark:1.0", { n: number }, timeout: 60, queue: queue)
  def all_runs = ran.concat(Array.new(runs.size) { runs.pop })

  def setup
    super
    runs
    @home = cluster.owner_of_slot(slot)
    @endings << -> { cluster.move(slot, @home) }
    @serving = worker(declare("mark:1.0") { |args| args["n"].tap { |n| runs << n } }, url: cluster.url, queue: queue, slots: 2)
    @calling = hub(cluster.url)
    assert_equal 0, call(0)
  end

  def teardown
    super
    assert_empty cluster.held
  end

  def test_moved
    before = @home.errors("MOVED")
    cluster.move(slot, away)
    assert_equal 1, call(1)
    assert_operator @home.errors("MOVED"), :>, before
    # Nobody goes on asking the wrong one.
    assert_equal 2, call(2)
    eventually { away.call("CLIENT", "LIST").lines.any? { |line| line.match?(/name=pshub-worker-blocking .*flags=b/) } }
    told = @home.errors("MOVED")
    20.times { |n| call(n + 3) }
    assert_equal told, @home.errors("MOVED")
    assert_equal (0...23).to_a, all_runs.sort
  end

  def test_ask_is_followed_and_changes_nothing
    key = "pshub:{#{queue}}:one"
    asking = connection
    asking.one("SET", key, "here")
    cluster.migrate(slot, away)
    before = @home.errors("ASK")
    assert_equal ["here"] * 3, Array.new(3) { asking.one("GET", key) }
    assert_operator @home.errors("ASK") - before, :>=, 3
    # Several in one write stay in their order.
    assert_equal ["OK", 2, "12"], asking.run(["SET", key, "1"], ["APPEND", key, "2"], ["GET", key])
    cluster.settle(slot, away)
    asking.one("DEL", key)
  end

  # Some of the queue's keys are here and some there: whatever it does would be half of it.
  def test_no_function_is_run_while_its_slot_moves
    jobs = Pshub::JobQueue.new(queue, Pshub::Keys.new("pshub"))
    asking = connection
    away.call("CLUSTER", "SETSLOT", slot, "IMPORTING", @home.id)
    @home.call("CLUSTER", "SETSLOT", slot, "MIGRATING", away.id)
    asking.one("PING")
    error = assert_raises(Pshub::ReplyError) { jobs.enqueue(asking, "hub", 1, [%("ttl":0,"id":"x","task":"mark:1.0","args":{"n":1}})]) }
    assert_equal "TRYAGAIN", error.code
    job = Thread.new { @calling.enqueue("mark:1.0", { n: 1 }, queue: queue, timeout_ms: 20_000) }
    cluster.migrate(slot, away)
    cluster.settle(slot, away)
    job.value
    eventually("the job") { all_runs.sort == [0, 1] }
  end

  def test_a_slot_that_nobody_serves_for_a_while
    before = cluster.masters.sum { |node| node.errors("CLUSTERDOWN") }
    cluster.masters.each { |node| node.call("CLUSTER", "DELSLOTS", slot) }
    pending = @calling.submit("mark:1.0", { n: 1 }, timeout: 60, queue: queue)
    eventually { cluster.masters.sum { |node| node.errors("CLUSTERDOWN") } > before }
    refute pending.done?
  ensure
    @home.call("CLUSTER", "ADDSLOTS", slot)
    (cluster.masters - [@home]).each { |node| node.call("CLUSTER", "SETSLOT", slot, "NODE", @home.id) }
    cluster.until_ok
    assert_equal 2, call(2)
  end

  def call_all_along(stop, start)
    Thread.new do
      ends = []
      until stop.set?
        number = start + ends.size
        ends << [number, @calling.submit("mark:1.0", { n: number }, timeout: 60, queue: queue).outcome]
      end
      ends
    end
  end

  def test_no_call_is_lost_and_none_comes_twice_while_a_slot_moves_under_load
    stop = Pshub::Stop.new
    callers = (1..4).map { |at| call_all_along(stop, 10_000 * at) }
    [away, @home, away].each do |to|
      count = all_runs.size
      eventually("calls before it moves") { all_runs.size > count + 50 }
      cluster.move(slot, to)
    end
    count = all_runs.size
    eventually("calls behind the last move") { all_runs.size > count + 50 }
    stop.set
    ends = callers.flat_map(&:value)
    assert_empty ends.filter_map { |_, outcome| outcome.error }
    assert_equal ends.map(&:first), ends.map { |_, outcome| outcome.value }
    assert_equal [0, *ends.map(&:first)].sort, all_runs.sort
  end
end
