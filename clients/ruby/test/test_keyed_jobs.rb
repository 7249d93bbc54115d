# frozen_string_literal: true

require_relative "helper"

# Jobs with a key: one at a time of each key, in their order.
class TestKeyedJobs < PshubTest
  Run = Struct.new(:key, :n, :attempt, :fence, :begun, :ended)

  def setup
    super
    @runs = Thread::Queue.new
  end

  # Notes its runs, and fails those of number 1 as often as it is told.
  def sync(fails: 0, takes: 0, **options)
    declare("sync:1.0", keyed: "ordered", backoff: 150, **options) do |args, ctx|
      begun = Pshub::Clock.now
      ctx.wait(takes)
      @runs << Run.new(args["key"], args["n"], ctx.attempt, ctx.fence, begun, Pshub::Clock.now)
      raise "not yet" if args["n"] == 1 && ctx.attempt <= fails

      ctx.fence
    end
  end

  def entry(key, number) = ["sync:1.0", { key: key, n: number }, { key: key }]

  def enqueue(calling, key, number, **options)
    calling.enqueue("sync:1.0", { key: key, n: number }, key: key, **options)
  end

  # The first so many, in their order.
  def ran(count)
    eventually("#{count} runs") { @runs.size >= count }
    Array.new(@runs.size) { @runs.pop }
  end

  def test_they_run_one_after_the_other_over_two_workers_and_others_beside_them
    task = sync(takes: 0.01)
    workers = Array.new(2) { worker(task, slots: 8) }
    calling = hub
    keys = ["a", "ü {b}", "c:\"\\\n"]
    calling.enqueue_many(Array.new(60) { |n| entry(keys[n % 3], n) })
    runs = ran(60)
    runs.group_by(&:key).each_value do |own|
      assert_equal own.map(&:n).sort, own.map(&:n)
      own.each_cons(2) do |before, after|
        assert_operator before.ended, :<=, after.begun
        assert_operator before.fence, :<, after.fence
      end
    end
    assert(runs.combination(2).any? { |one, two| one.key != two.key && one.begun < two.ended && two.begun < one.ended })
    calling.close
    workers.each(&:stop)
    assert_empty server.leftovers
  end

  def fail_twice(on_failure)
    told = []
    worker(sync(fails: 2, on_failure: on_failure)).events.on("job:retried") { |event| told << event.values_at(:attempt, :delay_ms, :code) }
    calling = hub
    [1, 2, 3].each { |n| enqueue(calling, "a", n) }
    enqueue(calling, "b", 4)
    mine, others = ran(6).partition { |run| run.key == "a" }
    assert_equal [[4, 1]], others.map { |run| [run.n, run.attempt] }
    # Whatever becomes of those behind it.
    assert_equal [[1, 150, "TaskFailed"], [2, 150, "TaskFailed"]], told
    mine.map { |run| [run.n, run.attempt] }
  end

  def test_one_that_fails_holds_the_next_ones
    assert_equal [[1, 1], [1, 2], [1, 3], [2, 1], [3, 1]], fail_twice(nil)
  end

  def test_one_that_fails_lets_the_next_ones_pass_where_its_task_says_so
    assert_equal [[1, 1], [2, 1], [3, 1], [1, 2], [1, 3]], fail_twice(:pass)
  end

  def test_a_worker_that_leaves_gives_its_job_back_ahead_of_the_next_ones
    task = declare("sync:1.0", keyed: :ordered) do |args, ctx|
      first = @runs.empty?
      @runs << Run.new("a", args["n"], ctx.attempt, ctx.fence)
      ctx.wait(10) if first
    end
    leaving = worker(task)
    calling = hub
    [1, 2].each { |n| enqueue(calling, "a", n) }
    eventually("the start") { @runs.size == 1 }
    leaving.stop(grace: 0)
    worker(task)
    runs = ran(3)
    assert_equal [1, 1, 2], runs.map(&:n)
    assert_equal runs.map(&:fence).sort.uniq, runs.map(&:fence)
  end

  def test_a_card_says_how_and_who_enqueues_is_held_to_it
    worker(declare("plain:1.0") { 1 }, declare("sync:1.0", keyed: "ordered") { 1 }, job_slots: 0)
    calling = hub
    cards = server.client.hgetall("pshub:tasks").transform_values { |text| JSON.parse(text)["keyed"] }
    assert_equal({ "plain:1.0" => nil, "sync:1.0" => "ordered" }, cards)
    wrong = [
      ["sync:1.0", {}, "enqueue sync:1.0: its jobs are ordered: give a key, for example key: 'order-17'."],
      ["sync:1.0", { key: nil, retries: 1 }, "its jobs are ordered: give a key"],
      ["plain:1.0", { key: "a" }, "no worker declared the task as keyed: 'ordered' or 'merged'. Declare it so, or leave out the key"],
      ["unseen:1.0", { key: "a", queue: "default" }, "no worker declared the task as keyed: 'ordered' or 'merged'"],
      *["", "x" * 201, "ü" * 101, 7, ["a"], "\xff", "\xfc".b].map do |key|
        ["sync:1.0", { key: key }, "key must be a text of 1 to 200 bytes, not #{key.inspect[0, 80]}"]
      end,
      *["high", :low].map { |each| ["sync:1.0", { key: "a", priority: each }, "jobs with a key have no priority"] }
    ]
    wrong.each do |name, options, message|
      error = assert_raises(Pshub::InvalidArgs, options.inspect) { calling.enqueue(name, {}, **options) }
      assert_includes error.message, message
    end
    assert_empty server.client.keys("*:line:*")
    latin = "\xfc{}".dup.force_encoding(Encoding::ISO_8859_1)
    ["x" * 200, "ü" * 100, latin].each { |key| calling.enqueue("sync:1.0", {}, key: key, priority: :normal) }
    assert_equal ["x" * 200, "ü" * 100, "ü{}"].map { |key| "pshub:{default}:line:sync:1.0:#{key}" }.sort,
                 server.client.keys("*:line:*").map { |key| key.dup.force_encoding(Encoding::UTF_8) }.sort
  end

  def test_a_task_that_cannot_be_so_is_not_declared
    {
      { keyed: "often" } => "sync:1.0: keyed must be 'ordered' or 'merged', or be left out",
      { keyed: false } => "sync:1.0: keyed must be 'ordered' or 'merged', or be left out",
      { keyed: "ordered", on_failure: "stop" } => "sync:1.0: on_failure must be 'hold' or 'pass'",
      { on_failure: "pass" } => "sync:1.0: on_failure is about jobs with a key; give keyed: 'ordered' too"
    }.each do |options, message|
      error = assert_raises(Pshub::ConfigError, options.inspect) { declare("sync:1.0", **options) { 1 } }
      assert_equal message, error.message
    end
  end
end
