# frozen_string_literal: true

require_relative "helper"

# Jobs with a key. The conformance checks see that they run one at a time, in their order.
class TestKeyedJobs < PshubTest
  Run = Struct.new(:key, :n, :attempt, :fence)

  def setup
    super
    @runs = Thread::Queue.new
  end

  def enqueue(calling, key, number, **options)
    calling.enqueue("sync:1.0", { key: key, n: number }, key: key, **options)
  end

  # The first so many, in their order.
  def ran(count)
    eventually("#{count} runs") { @runs.size >= count }
    Array.new(@runs.size) { @runs.pop }
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

  def test_their_task_takes_no_calls_whoever_sends_them
    worker(declare("sync:1.0", keyed: "ordered") { flunk })
    assert_match(/sync:1\.0 is keyed/, assert_raises(Pshub::InvalidArgs) { hub.call("sync:1.0") }.message)
    call = { at: 1, ttl: 0, id: "c", task: "sync:1.0", args: {}, result_queue: "pshub:reply:{other}" }
    server.client.rpush("pshub:{default}:calls", JSON.generate(call))
    server.client.rpush("pshub:{default}:bell", "1")
    assert_equal "InvalidArgs", JSON.parse(server.client.blpop("pshub:reply:{other}", timeout: 10).last).dig("error", "code")
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
        ["sync:1.0", { key: key }, "key must be a string of 1 to 200 bytes, not #{key.inspect[0, 80]}"]
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
