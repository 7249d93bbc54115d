# frozen_string_literal: true

require_relative "helper"

# A task may live in several queues at once: a move, a rollback, a laptop beside a server.
class TestQueuesOfTask < PshubTest
  # A worker of a queue whose task says where it ran. Returns it and what it told of other queues.
  def start_on(queue)
    told = []
    serving = Pshub::Worker.new(redis: server.url, queue: queue, tasks: [declare("where:1.0") { queue }])
    serving.events.on("task:elsewhere") { |event| told << event }
    ending(serving, :stop).start
    [serving, told]
  end

  def where(calling = hub, called = "where:1.0", **options) = calling.call(called, {}, **options)
  def fields = server.client.hkeys("pshub:tasks").sort
  NAMES = %w[where:1.0 where:1 where].freeze

  def test_it_is_called_where_it_was_first_and_the_second_worker_says_so
    _, told_first = start_on("prod")
    _, told = start_on("default")
    assert_equal [[], [{ task: "where:1.0", queue: "default", first: "prod" }]], [told_first, told]
    assert_equal %w[where:1.0 where:1.0@default], fields
    NAMES.each { |called| assert_equal "prod", where(hub, called) }
  end

  def test_it_is_never_without_workers_while_one_lives
    [%w[prod default], %w[default prod]].each do |goes, stays|
      workers = { "prod" => start_on("prod").first, "default" => start_on("default").first }
      calling = hub
      assert_equal "prod", where(calling)
      workers[goes].stop
      NAMES.each { |called| assert_equal stays, where(hub, called) }
      # One that knew the other is wrong for as long as it may use a route without asking.
      eventually("its new route") { calling.submit("where:1.0", {}, timeout: 0.3).outcome.value == stays }
      workers[stays].stop
      server.client.del("pshub:{#{goes}}:calls", "pshub:{#{goes}}:bell")
      assert_match(/where:1\.0.*--queue prod, default/, assert_raises(Pshub::NoWorkers) { where(hub) }.message)
      server.client.flushall
    end
  end

  def test_callers_of_a_task_that_an_emptied_registry_lost_try_again_until_its_workers_had_time
    serving, = start_on("prod")
    calling = hub
    where(calling)
    serving.stop
    server.client.del("pshub:tasks")
    codes = lambda do
      [-> { where(calling, "where") }, -> { calling.enqueue("where:1.0") }].map { |ask| assert_raises(Pshub::HubError, &ask).code }
    end
    assert_equal %w[NotEnqueued NotEnqueued], codes.call
    assert_raises(Pshub::NoSuchTask) { where(calling, "other:1.0") }
    eventually("that they are unknown") { codes.call == %w[NoSuchTask NoSuchTask] }
  end

  def test_a_killed_worker_leaves_it_to_the_other_queue
    victim = worker_process("--queue", "prod")
    survivor = worker_process("--queue", "default")
    eventually("the word") { survivor.said.include?("which had it first") }
    calling = hub
    assert_equal victim.pid, calling.call("again:1.0", { until: __FILE__ })
    victim.signal("KILL")
    codes = []
    eventually("the other one's result") do
      outcome = calling.submit("again:1.0", { until: __FILE__ }, timeout: 0.3).outcome
      codes << outcome.error&.code
      outcome.value == survivor.pid
    end
    refute_includes codes, "NoWorkers"
  end

  def test_it_stays_findable_everywhere_when_all_come_at_once
    queues = %w[a b c]
    # Else each thread starts one of its own.
    server
    told = queues.map { |queue| Thread.new { start_on(queue).last } }.flat_map(&:value)
    queues.each { |queue| assert_equal queue, where(hub, queue: queue) }
    assert_equal [2, 3], [told.size, fields.size]
  end

  def test_a_call_picks_its_queue
    start_on("prod")
    start_on("default")
    worker(declare("outer:1.0") { |_, ctx| ctx.call("where:1.0", {}, queue: "default") })
    calling = hub
    NAMES.each do |called|
      assert_equal %w[prod default prod], [{}, { queue: "default" }, { queue: "prod" }].map { |more| where(calling, called, **more) }
    end
    gathered = calling.gather({ one: ["where:1.0", {}, nil, "prod"], other: ["where:1.0"] }, queue: "default")
    assert_equal({ one: "prod", other: "default" }, gathered.transform_values(&:value))
    assert_equal "default", calling.call("outer:1.0")
  end

  def test_a_queue_without_the_task_is_told_with_where_it_is
    serving, = start_on("prod")
    error = assert_raises(Pshub::NoWorkers) { where(hub, queue: "other") }
    assert_equal "No live worker of queue other provides where:1.0. It is served in queue prod.", error.message
    serving.stop
    assert_match(/No other queue has a live worker for it either; it is known in: prod\./, assert_raises(Pshub::NoWorkers) { where(hub, queue: "other") }.message)
    assert_raises(Pshub::NoSuchTask) { where(hub, "nowhere", queue: "other") }
    ["", "a b", 7, "q\nwhere:1.0"].each do |queue|
      error = assert_raises(Pshub::InvalidArgs) { where(hub, queue: queue) }
      assert_match(/\Aqueue must be the name of a queue, not /, error.message)
    end
  end

  def test_cards_of_further_queues_are_no_tasks_and_go_in_time
    old = { task: "old:1.0", queue: "b", at: server.client.time.first - 90_000 }
    server.client.hset("pshub:tasks", "old:1.0@b", JSON.generate(old))
    start_on("prod")
    start_on("default")
    refute_includes fields, "old:1.0@b"
    assert_equal "There is no where:2.0. Known versions: where:1.0.", assert_raises(Pshub::NoSuchTask) { where(hub, "where:2.0") }.message
    assert_match(/Did you mean where:1\.0\?\z/, assert_raises(Pshub::NoSuchTask) { where(hub, "wher") }.message)
    assert_match(/is not a task name/, assert_raises(Pshub::NoSuchTask) { where(hub, "where:1.0@default") }.message)
  end
end

# What is in Redis was written by others, and may be anything: it must hurt nothing else.
class TestAnythingInRedis < PshubTest
  HASHES = %w[tasks workers stats taskstats slow failures].map { |name| "pshub:#{name}" }.freeze

  def setup
    super
    @serving = worker(declare("healthy:1.0", args: { type: "object" }) { "well" }, queue: "q")
    @whole = HASHES.to_h { |key| [key, server.client.hgetall(key)] }
  end

  def repair
    server.client.del(*HASHES)
    @whole.each { |key, content| server.client.hset(key, content) unless content.empty? }
    server.client.zrem("pshub:{q}:leases", "junk")
  end

  def healthy? = ["healthy:1.0", "healthy"].all? { |called| hub.call(called, {}, timeout: 3) == "well" }

  def junk_worker(text)
    server.client.hset("pshub:workers", "junk", text)
    server.client.zadd("pshub:{q}:leases", (Time.now.to_f * 1000).to_i + 600_000, "junk")
  end

  CARD = { "task" => "healthy:2.0", "queue" => "q", "at" => 1 }.freeze
  WORKER = { "id" => "junk", "queue" => "q", "slots" => 1, "tasks" => { "healthy:2.0" => "d" } }.freeze

  def deep(levels) = "#{'[' * levels}#{']' * levels}"

  def test_a_card_that_is_not_what_it_should_be_hurts_nobody
    junk_worker(JSON.generate(WORKER))
    ["x", '{"task":', deep(20_000), JSON.generate(CARD).sub("}", %(,"args":#{deep(2000)}})),
     JSON.generate({ **CARD, "description" => "x" * 300_000 }), JSON.generate({ **CARD, "task" => "healthy:1.0" })].each do |text|
      server.client.hset("pshub:tasks", "healthy:2.0", text)
      assert_predicate self, :healthy?, text[0, 80]
    end
    server.client.hdel("pshub:tasks", "healthy:2.0")
    [JSON.generate({ **WORKER, "host" => { "toString" => 1 }, "slots" => [], "tasks" => { "healthy:1.0" => [] } }), deep(20_000), "{}",
     JSON.generate({ **WORKER, "tasks" => "healthy:1.0" }), JSON.generate({ **WORKER, "id" => @serving.id })].each do |text|
      junk_worker(text)
      assert_predicate self, :healthy?, text[0, 80]
    end
  end

  def test_it_is_told_once
    told = []
    calling = hub
    calling.events.on("registry:unreadable") { |event| told << event }
    server.client.hset("pshub:tasks", { "healthy:3.0" => '{"task":', "healthy:4.0" => "{}" })
    server.client.set("pshub:{zz}:leases", "no list")
    server.client.hset("pshub:tasks", "healthy:5.0", JSON.generate({ **CARD, "task" => "healthy:5.0", "queue" => "zz" }))
    2.times { assert_equal "well", calling.call("healthy", {}) }
    eventually("another look") { Pshub::Clock.now && calling.call("healthy:1", {}) == "well" }
    assert_equal [
      { key: "pshub:tasks", field: "healthy:3.0", reason: "it is not JSON" },
      { key: "pshub:tasks", field: "healthy:4.0", reason: "its task is not a string of 1 to 256 characters" },
      { key: "pshub:{zz}:leases", reason: "it has another type (WRONGTYPE)" }
    ], told.sort_by { |event| event.values.join(" ") }
  end

  def test_a_key_of_another_type_counts_as_absent
    { "pshub:tasks" => Pshub::NoSuchTask, "pshub:workers" => Pshub::NoWorkers, "pshub:stats" => nil, "pshub:taskstats" => nil,
      "pshub:{q}:dead" => nil, "pshub:{q}:cancelled" => nil, "pshub:{q}:reporter" => nil }.each do |key, expected|
      server.client.del(key)
      key.end_with?("reporter") ? server.client.rpush(key, "squat") : server.client.set(key, "squat")
      expected ? assert_raises(expected, key) { hub.call("healthy:1.0", {}) } : assert_predicate(self, :healthy?, key)
    ensure
      server.client.del(key)
      repair
    end
    assert_predicate self, :healthy?
  end

  def test_what_cannot_be_read_is_not_swept
    server.client.hset("pshub:tasks", "junk:1.0", "no card")
    server.client.hset("pshub:stats", "junk", "no statistics")
    server.client.hset("pshub:stats", "gone", '{"seen":1}')
    worker(declare("other:1.0") { 1 }, queue: "other")
    eventually("the sweep") { !server.client.hexists("pshub:stats", "gone") }
    assert_equal ["no card", "no statistics"], [server.client.hget("pshub:tasks", "junk:1.0"), server.client.hget("pshub:stats", "junk")]
  end
end
