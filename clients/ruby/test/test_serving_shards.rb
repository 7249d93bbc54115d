# frozen_string_literal: true

require_relative "sharded"

# Workers whose queue is spread over shards: each serves all of them with its slots.
class TestServingShards < PshubTest
  include Sharded

  # Notes its runs; those behind +gate+ wait for what is put there, or for its end.
  def note(runs, gate = nil)
    declare("note:1.0", timeout: 60) do |args, _|
      gate&.pop
      runs << args["n"]
      args["n"]
    end
  end

  # As whoever writes them by hand.
  def push(name, task, *numbers)
    server.client.rpush("pshub:{#{name}}:calls", numbers.map { |n| JSON.generate(task: task, args: { n: n }) })
    server.client.lpush("pshub:{#{name}}:bell", 1) if server.client.llen("pshub:{#{name}}:bell").zero?
  end

  def test_work_in_all_shards_is_run_with_the_slots_of_one
    serving = worker(stay, slots: 3, job_slots: 2)
    settled = Thread::Queue.new
    serving.events.on("task:settled") { |event| settled << event[:queue] }
    assert_equal ["default"], places
    # It hears of them while it runs.
    spread(1, NAMES)
    eventually("all shards") { places == NAMES }
    calling = hub
    calls = NAMES.flat_map { |name| Array.new(5) { |n| calling.submit("stay:1.0", { n: n }, queue: name) } }
    jobs = calling.enqueue_many(Array.new(9) { |n| ["stay:1.0", { n: n }] })
    eventually("the claims") { @running == 3 }
    assert_equal [3, 3], [server.held_count, serving.busy]
    @going_on.set
    assert_equal((0..4).to_a * 3, calls.map(&:result))
    eventually("the jobs") { settled.size == 24 }
    assert_equal [NAMES, 9], [Array.new(24) { settled.pop }.uniq.sort, jobs.ids.size]
    assert_equal 3, @most
    eventually("the release") { server.held_count.zero? && serving.busy.zero? }
  end

  def test_a_place_that_keeps_it_busy_does_not_keep_it_from_the_others
    spread(1, NAMES)
    runs, gate = Array.new(2) { Thread::Queue.new }
    serve(note(runs, gate), slots: 1)
    push(NAMES[0], "note:1.0", *(1..100))
    10.times { gate << true }
    eventually("some runs") { runs.size == 10 }
    NAMES.last(2).each { |name| push(name, "note:1.0", name) }
    gate.close
    eventually("the runs") { runs.size == 102 }
    order = Array.new(102) { runs.pop }
    NAMES.last(2).each { |name| assert_includes order.first(60), name }
    assert_equal (1..100).to_a, order - NAMES
  end

  def test_a_place_that_is_paused_keeps_none_of_the_others
    spread(1, NAMES)
    runs = Thread::Queue.new
    serving = serve(note(runs), slots: 1)
    told = Thread::Queue.new
    serving.events.on("queue:paused") { |event| told << event[:queue] }
    serving.events.on("queue:resumed") { |event| told << event[:queue] }
    server.client.set("pshub:{#{NAMES[1]}}:paused", 1)
    eventually("the word") { told.size == 1 }
    calling = hub
    held_up = calling.submit("note:1.0", { n: 1 }, queue: NAMES[1])
    3.times { |n| NAMES.values_at(0, 2).each { |name| assert_equal n + 2, calling.call("note:1.0", { n: n + 2 }, queue: name) } }
    assert_equal [6, 1], [runs.size, server.client.llen("pshub:{#{NAMES[1]}}:calls")]
    server.client.del("pshub:{#{NAMES[1]}}:paused")
    assert_equal [1, [NAMES[1]] * 2], [held_up.result, Array.new(2) { told.pop }]
  end

  def test_a_shard_that_is_none_any_more_is_served_until_nothing_is_left
    serving = worker(stay, slots: 3)
    spread(1, NAMES)
    eventually("all shards") { places == NAMES }
    spread(2, NAMES.first(1), earlier: NAMES)
    calling = hub
    running = calling.submit("stay:1.0", { n: 1 }, queue: NAMES[1])
    eventually("the claim") { serving.busy == 1 }
    ended = Thread::Queue.new
    serving.events.on("worker:stopped") { |event| ended << event[:queue] }
    spread(3, NAMES.first(1))
    # With the next beats it leaves the one where it holds nothing.
    eventually("the end of one") { ended.size == 1 }
    assert_equal [NAMES.first(2), NAMES[2]], [places, ended.pop]
    @going_on.set
    assert_equal 1, running.result
    eventually("the end of the other") { places == NAMES.first(1) }
    assert_empty server.client.keys("pshub:{shard.*:leases")
    assert_equal 5, calling.call("stay:1.0", { n: 5 })
    # It comes again.
    spread(4, NAMES.first(2), coming: true, earlier: NAMES.first(1))
    eventually("the shard") { places == NAMES.first(2) }
    assert_equal 6, calling.call("stay:1.0", { n: 6 }, queue: NAMES[1])
  end

  def test_what_it_leaves_behind_is_nothing
    spread(1, NAMES)
    serving = serve(stay, slots: 6, job_slots: 6)
    calling = hub
    # In turn.
    running = Array.new(3) { calling.enqueue("stay:1.0", { n: 3 }, tracked: true) }
    eventually("the claims") { server.held_count == 3 }
    ended = []
    serving.events.on("worker:stopped") { |event| ended << event.values_at(:queue, :handed_back, :abandoned) }
    serving.stop(grace: 0.1)
    # What may run twice is in each list again.
    assert_equal(NAMES.map { |name| [name, 1, 1] }, ended.sort)
    assert_equal [1, 1, 1], NAMES.map { |name| server.client.llen("pshub:{#{name}}:jobs") }
    assert_equal [[], [], []], [server.held, server.client.keys("*:leases"), places]
    @going_on.set
    other = serve(stay)
    assert_equal([3, 3, 3], running.map(&:result))
    other.stop
    calling.close
    assert_equal(NAMES.map { |name| "pshub:{#{name}}:shards" }.sort, server.leftovers)
  end

  def test_one_that_is_told_to_serve_a_shard_serves_all_of_them
    spread(1, NAMES)
    serving = serve(stay, queue: NAMES[1])
    @going_on.set
    assert_equal NAMES[1], JSON.parse(server.client.hget("pshub:workers", serving.id))["queue"]
    assert_equal([0, 1, 2], NAMES.each_with_index.map { |name, n| hub.call("stay:1.0", { n: n }, queue: name) })
    assert_equal 4, hub.call("stay:1.0", { n: 4 })
  end
end
