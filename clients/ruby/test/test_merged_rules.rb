# frozen_string_literal: true

require_relative "merging"

# What may be said of merged jobs and of their tasks, what is none of them, and those that are put off.
class TestMergedRules < PshubTest
  include Merging

  def test_so_are_other_jobs_and_a_call_fails_as_one_that_may_be_tried_again
    runs = Thread::Queue.new
    task = declare("wait:1.0", retries: 0) do |args, ctx|
      runs << [ctx.attempt, Pshub::Clock.now]
      raise Pshub::PutOff, 40.5 if args["call"] || runs.size < 3

      "done"
    end
    told = told_by(worker(task), "job:putoff")
    calling = hub
    assert_equal "done", calling.enqueue("wait:1.0", {}, tracked: true).result
    begun = taken(runs, 3)
    assert_equal [1, 1, 1], begun.map(&:first)
    begun.map(&:last).each_cons(2) { |before, after| assert_operator after - before, :>, 0.03 }
    assert_equal ["The task cannot run now; try again later."] * 2, taken(told, 2).map { |_, event| event[:reason] }
    error = assert_raises(Pshub::TaskFailed) { calling.call("wait:1.0", { call: true }) }
    assert_equal [true, { "retryAfterMs" => 41 }], [error.retryable, error.data]
    [-1, "1", nil, Float::NAN, 11 * 365 * 24 * 3600 * 1000].each { |ms| assert_raises(Pshub::ConfigError) { Pshub::PutOff.new(ms) } }
  end

  def test_payloads_are_serialized_for_their_way_and_deserialized_for_the_handler
    task = declare("days:1.0", keyed: :merged, args: { type: "string" }, serialize: ->(day) { day.utc.iso8601 },
                               deserialize: Time.method(:iso8601)) { |by_key| @runs << by_key }
    serving = worker(task)
    calling = hub
    calling.enqueue_many([[task, Time.at(7), { key: "b" }]])
    calling.enqueue(task, Time.at(5), key: "a")
    eventually("both") { @runs.size == 2 }
    assert_equal({ "a" => [Time.at(5)], "b" => [Time.at(7)] }, @runs.reduce(:merge))
    error = assert_raises(Pshub::InvalidArgs) { calling.enqueue(task, 5, key: "a") }
    assert_match(/\Adays:1\.0: its serialize raised: undefined method/, error.message)
    # What cannot be read again is a failure like any other.
    told = told_by(serving, "job:retried")
    calling.enqueue("days:1.0", "yesterday", key: "c")
    assert_equal [1, "TaskFailed"], taken(told, 1).first.last.values_at(:attempt, :code)
  end

  def test_what_has_no_meaning_for_them_is_refused
    calling = declared(noting)
    refused = lambda do |payload = 1, **options|
      assert_raises(Pshub::InvalidArgs, options.inspect) { calling.enqueue(TASK, payload, **options) }.message
    end
    assert_includes refused[], "enqueue merge:1.0: its jobs are merged: give a key, for example key: 'order-17'."
    { tracked: true, keep_result_ms: 1, unique: "x", expires_ms: 1, retries: 3, backoff: 5 }.each do |name, value|
      advice = %i[retries backoff].include?(name) ? "Set it on the task" : "Leave it out"
      assert_includes refused.call(key: "a", name => value),
                      "#{name} is not allowed for a merged job, which runs together with others. #{advice}"
    end
    ["1", Float::NAN, Float::INFINITY, (2**53) + 1, Complex(1, 1)].each do |score|
      assert_includes refused.call(key: "a", score: score), "score must be a number of at most 2^53, not #{score.inspect}"
    end
    entry = [TASK, 1, { key: "a" }]
    assert_includes assert_raises(Pshub::InvalidArgs) { calling.batch([entry]) }.message, "cannot be one of a batch: it has no end of its own"
    [-> { calling.chain([entry]) }, -> { calling.batch([], then: entry) }].each do |wrong|
      assert_includes assert_raises(Pshub::InvalidArgs, &wrong).message, "a merged job also cannot be a step of a chain or follow a batch"
    end
    assert_includes assert_raises(Pshub::InvalidArgs) { calling.enqueue("unseen:1.0", 1, queue: "default", score: 1) }.message,
                    "score is for merged jobs, and no worker declared the task as keyed: 'merged'. Leave it out"
    assert_empty server.client.keys("*:merged:*")
    [2**53, -(2**53), 0.5, -0.0].each_with_index { |score, n| calling.enqueue(TASK, n, key: "a", score: score, tracked: false) }
    assert_equal [-9_007_199_254_740_992.0, 0.0, 0.5, 9_007_199_254_740_992.0], waiting("a").values
  end

  def test_a_task_that_cannot_be_so_is_not_declared
    merged = { keyed: "merged" }
    {
      { batch: 2 } => "batch is for tasks that merge their jobs; give keyed: 'merged' too",
      { keyed: "ordered", scores: "first" } => "scores is for tasks that merge their jobs; give keyed: 'merged' too",
      { **merged, batch: 0 } => "batch must be a whole number from 1 to 100",
      { **merged, batch: 101 } => "batch must be a whole number from 1 to 100",
      { **merged, max_payloads: 10_001 } => "max_payloads must be a whole number from 1 to 10000",
      { **merged, max_payloads: 1.5 } => "max_payloads must be a whole number from 1 to 10000",
      { **merged, scores: "best" } => "scores must be 'first' or 'last'",
      { **merged, serialize: "json" } => "serialize must be a proc",
      { **merged, deserialize: 1 } => "deserialize must be a proc",
      { **merged, result: {} } => "result has no effect: nobody receives what a run of merged jobs returns",
      { **merged, on_failure: "pass" } => "on_failure is for keyed: 'ordered': a key that failed keeps its payloads together"
    }.each do |options, message|
      error = assert_raises(Pshub::ConfigError, options.inspect) { declare("sync:1.0", **options) { 1 } }
      assert_equal "sync:1.0: #{message}", error.message
    end
    assert_raises(ArgumentError) { declare("sync:1.0", **merged, batches: 1) { 1 } }
    task = declare("sync:1.0", **merged, batch: 100, max_payloads: 10_000, scores: "last") { 1 }
    assert_equal [100, 10_000, "last", true], [task.batch, task.max_payloads, task.scores, task.merged?]
    assert_equal [1, 1000], declare("sync:1.0", **merged) { 1 }.then { |plain| [plain.batch, plain.max_payloads] }
  end
end
