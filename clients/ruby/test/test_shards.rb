# frozen_string_literal: true

require_relative "helper"

# Queues that are spread over shards.
class TestShards < PshubTest
  NAMES = %w[default shard.2.default shard.3.default].freeze

  # Notes in the places of all of these over which shards the queue is spread.
  def spread(epoch, names: NAMES, places: names, **more)
    text = JSON.generate({ epoch: epoch, names: names, **more })
    places.each { |name| server.client.set("pshub:{#{name}}:shards", text) }
  end

  def keyed = declare("sync:1.0", keyed: "ordered") { |args| args["n"] }

  # A key whose home is that one of the names.
  def key_of(name) = ("a".."z").find { |key| Pshub::Shards.home_of(NAMES, key) == name }

  # A worker of the queue, whose runs are noted with the place that they came from.
  def serve(runs)
    noted = {}
    task = declare("sync:1.0", keyed: "ordered") do |args, ctx|
      noted[ctx.id] = [args["key"], args["n"], ctx.attempt, ctx.fence]
      args["n"]
    end
    serving = Pshub::Worker.new(redis: server.url, tasks: task)
    serving.events.on("task:settled") { |event| runs << [event[:queue], *noted[event[:id]]] }
    ending(serving.start, :stop)
  end

  # Its worker takes nothing there until #resume.
  def pause(name) = server.client.set("pshub:{#{name}}:paused", 1)
  def resume(name) = server.client.del("pshub:{#{name}}:paused")

  # While no worker takes jobs: a Job for each of the numbers, of one key.
  def enqueue_before(key, count, **options)
    calling = hub
    serving = worker(keyed, job_slots: 0)
    jobs = Array.new(count) { |n| calling.enqueue("sync:1.0", { key: key, n: n }, key: key, **options) }
    serving.stop
    jobs
  end

  def test_jobs_that_wait_are_moved_in_their_order_to_where_they_belong
    runs = Thread::Queue.new
    keys = NAMES.map { |name| key_of(name) }
    keys.each { |key| enqueue_before(key, 20) }
    spread(1)
    serve(runs)
    eventually("the runs") { runs.size == 60 }
    found = Array.new(60) { runs.pop }
    NAMES.zip(keys).each do |name, key|
      own = found.select { |run| run[1] == key }
      assert_equal [[name, 1]], own.map { |run| run.values_at(0, 3) }.uniq
      assert_equal (0...20).to_a, own.map { |run| run[2] }
      assert_equal own.map(&:last).uniq.sort, own.map(&:last)
    end
    eventually("the ends") { server.held_count.zero? }
    assert_empty server.client.keys("*:came:*") + server.client.keys("*:line:*") + server.client.keys("*:running:*")
  end

  def test_the_job_that_was_moved_is_followed
    runs, key = Thread::Queue.new, key_of(NAMES[1])
    done, cancelled = enqueue_before(key, 2, tracked: true)
    spread(1)
    pause(NAMES[1])
    mover = serve(runs)
    waiting = Thread.new { done.result(timeout_ms: 20_000) }
    line = "pshub:{#{NAMES[1]}}:line:sync:1.0:#{key}"
    eventually("the move") { server.client.llen(line) == 2 && mover.busy.zero? }
    found = hub.job(cancelled.id, queue: "default")
    assert_equal [NAMES[1], "waiting", "sync:1.0"], [found.queue, found.status.state, found.task]
    assert cancelled.cancel
    assert_equal [NAMES[1], "cancelled"], [cancelled.queue, cancelled.status.state]
    assert_equal NAMES[1], hub.job(done.id).queue
    resume(NAMES[1])
    assert_equal 0, waiting.value
    assert_equal [NAMES[1], "done"], [done.queue, done.status.state]
  end

  def test_calls_and_jobs_go_to_all_shards
    spread(1)
    adding = worker(adder, keyed)
    calling = hub
    eventually("all shards") { server.client.hvals("pshub:workers").size == 3 }
    pushed = Thread::Queue.new
    calling.events.on("queue:pushed") { |event| pushed << event[:queue] }
    60.times { |n| assert_equal n + 2, calling.call("add:1.0", { x: n }) }
    assert_equal NAMES.sort, Array.new(pushed.size) { pushed.pop }.uniq.sort
    adding.stop
    ids = calling.enqueue_many(Array.new(9) { |n| ["add:1.0", { x: n }] }, tracked: true).ids
    assert_equal(NAMES.to_h { |name| [name, 3] }, ids.map { |id| calling.job(id, queue: "default").queue }.tally)
    keys = NAMES.map { |name| key_of(name) }
    assert_equal(NAMES, keys.map { |key| calling.enqueue("sync:1.0", {}, key: key).queue })
    assert_equal(NAMES, keys.map { |key| calling.key("sync:1.0", key).queue })
    assert_equal([NAMES[0]] * 4, Array.new(4) { |n| calling.enqueue("add:1.0", { x: n }, unique: true).queue })
    chained = calling.chain(Array.new(3) { ["sync:1.0", {}, { key: keys[1] }] })
    assert_equal [NAMES[1], NAMES[0], NAMES[0]], chained.steps.map(&:queue)
    assert_equal NAMES[0], calling.batch([["sync:1.0", {}, { key: keys[2] }]]).queue
  end

  def test_a_call_goes_where_fewer_are_under_way_for_each_slot
    box = Struct.new(:in_flight, :down?)
    chosen = lambda do |loads, live|
      Array.new(40) { Pshub::Placement.lighter(live) { |name| box.new(*loads[name]) } }.uniq
    end
    assert_equal ["a"], chosen.call({ "a" => [3, false], "b" => [2, false] }, { "a" => 4, "b" => 2 })
    assert_equal ["b"], chosen.call({ "a" => [0, true], "b" => [9, false] }, { "a" => 1, "b" => 1 })
    assert_equal %w[a b], chosen.call({ "a" => [1, false], "b" => [1, false] }, { "a" => 1, "b" => 1 }).sort
    assert_equal [nil], chosen.call({}, {})
  end

  def test_a_key_goes_where_its_jobs_still_are_while_shards_change
    allow_strangers
    worker(keyed, job_slots: 0)
    key = key_of(NAMES[1])
    calling = hub
    enqueue = -> { calling.enqueue("sync:1.0", { n: 1 }, key: key).queue }
    # Whatever the hub knew of before is looked up again.
    changed = lambda do |epoch, **more|
      spread(epoch, **more)
      calling = hub
    end
    changed.call(1, coming: true, earlier: ["default"])
    assert_equal "default", enqueue.call
    changed.call(2, earlier: ["default"])
    assert_equal "default", enqueue.call
    # A change that not all places know of yet.
    spread(3, places: ["default"], earlier: ["default"])
    assert_equal "default", enqueue.call
    server.client.del("pshub:{default}:line:sync:1.0:#{key}")
    assert_equal NAMES[1], enqueue.call
    calling.enqueue_many(Array.new(3) { |n| ["sync:1.0", { n: n }, { key: key }] })
    assert_equal 4, server.client.llen("pshub:{#{NAMES[1]}}:line:sync:1.0:#{key}")
  end

  def test_a_pause_and_dead_jobs_are_those_of_all_shards
    spread(1)
    failing = declare("fail:1.0", keyed: "ordered", retries: 0) { |args| raise "no" if args["fails"] }
    worker(failing)
    calling = hub
    NAMES.each { |name| calling.enqueue("fail:1.0", { fails: true }, key: key_of(name)) }
    dead = calling.dead("default")
    eventually("the deaths") { dead.count == 3 }
    assert_equal NAMES.sort, dead.list.map(&:queue).sort
    assert_equal [2, 1], [dead.list(limit: 2).size, dead.count(key: key_of(NAMES[2]))]
    paused = -> { server.client.keys("*:paused").size }
    calling.pause("default")
    assert_equal 3, paused.call
    assert calling.resume("default")
    eventually("the end of the pause") { paused.call.zero? }
    assert_equal [3, 0], [dead.delete, dead.count]
  end
end
