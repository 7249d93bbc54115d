# frozen_string_literal: true

require_relative "helper"

# Jobs that are unique, cancelled, waited for, many at once, one after the other, or all to be ended; and those whose workers die.
class TestJobFlows < PshubTest
  JOBS = "pshub:{default}:jobs"

  def setup
    super
    @tries = Thread::Queue.new
  end

  def noting(name = "note:1.0", **options) = declare(name, backoff: 1, **options) { |args, ctx| (@tries << args) && { attempt: ctx.attempt } }
  def record(job) = "pshub:{#{job.queue}}:job:#{job.id}"

  def test_a_unique_job_is_there_once_until_it_has_ended
    calling = hub
    own = { queue: "default", unique: true }
    first = calling.enqueue("note:1.0", { a: 1, b: [1.0, 2] }, **own)
    twin = calling.enqueue("note:1.0", { b: [1, 2], "a" => 1 }, **own)
    other = calling.enqueue("note:1.0", { a: 2 }, **own)
    assert_equal [first.id, true, false], [twin.id, twin.twin?, other.twin?]
    many = calling.enqueue_many([["note:1.0", { a: 2 }], ["note:1.0", { a: 3 }]], **own)
    assert_equal [other.id, 1], [many.ids.first, many.twins]
    worker(noting)
    [twin, other].each(&:result)
    eventually("the third") { @tries.size >= 3 }
    assert_equal 3, @tries.size, @tries.inspect
    refute_predicate calling.enqueue("note:1.0", { a: 1, b: [1, 2] }, unique: true), :twin?
  end

  def test_one_that_is_cancelled_while_it_runs_is_told_and_not_tried_again
    serving = worker(declare("stay:1.0", backoff: 1) { |_, ctx| (@tries << 1) && ctx.wait(20) && raise(ctx.reason) })
    job = hub.enqueue("stay:1.0", {}, tracked: true)
    eventually("the start") { serving.busy == 1 }
    assert_equal false, job.cancel
    assert_raises(Pshub::Aborted) { job.result }
    assert_equal ["cancelled", 1], [job.status.state, @tries.size]
  end

  def test_who_waits_for_one_that_failed_and_was_cancelled_meanwhile_is_told_so
    gate = Thread::Queue.new
    serving = worker(declare("fails:1.0", backoff: 60_000) { gate.pop && raise("broken") })
    job = hub.enqueue("fails:1.0", {}, tracked: true)
    eventually("the start") { serving.busy == 1 }
    waiting = Thread.new { assert_raises(Pshub::Aborted) { job.result } }
    eventually("the wait") { server.client.hkeys(record(job)).any? { |field| field.start_with?("wait:") } }
    assert_equal false, job.cancel
    gate << 1
    waiting.value
    assert_equal "cancelled", job.status.state
  end

  def test_nobody_knows_it
    calling = hub
    [["nobody", {}], ["no id!", {}], ["nobody", { queue: "q" }]].each do |id, options|
      error = assert_raises(Pshub::NoSuchJob) { calling.job(id, **options) }
      assert_match(/queue q/, error.message) if options.any?
    end
    assert_raises(Pshub::InvalidArgs) { calling.job("nobody", queue: "no queue") }
  end

  def test_who_waits_gives_up_in_time_and_when_the_hub_is_closed
    calling = hub
    job = calling.enqueue("never:1.0", {}, queue: "default", tracked: true)
    assert_match(/The job continues/, assert_raises(Pshub::Timeout) { job.result(timeout_ms: 30) }.message)
    waiting = Thread.new { assert_raises(Pshub::HubClosed) { job.result } }
    eventually("the wait") { server.client.hkeys(record(job)).count { |field| field.start_with?("wait:") } == 2 }
    calling.close
    waiting.value
    assert_empty server.client.keys("pshub:reply:*")
  end

  def test_many_are_refused_where_one_of_them_is_wrong_and_it_is_named
    worker(declare("strict:1.0", args: { type: "integer" }) { 1 })
    calling = hub
    error = assert_raises(Pshub::InvalidArgs) { calling.enqueue_many([["strict:1.0", 1], ["strict:1.0", "x"]]) }
    assert_match(/\ANothing was enqueued\. Entry 1:/, error.message)
    assert_equal [1, "InvalidArgs"], [error.data["index"], error.code]
    assert_equal 1, assert_raises(Pshub::InvalidArgs) { calling.enqueue_many([["strict:1.0", 1], "x"]) }.data["index"]
    assert_raises(Pshub::InvalidArgs) { calling.enqueue_many([["strict:1.0", 1]] * 100_001) }
    assert_equal 0, server.client.llen(JOBS)
  end

  def test_a_chain_over_two_queues_passes_results_on_exactly
    # Not as an integer of other languages, and an empty array that stays one.
    worker(declare("first:1.0") { { big: 9_007_199_254_740_993, none: [] } }, queue: "a")
    worker(declare("second:1.0") { |args, ctx| [args, ctx.caller_name] }, queue: "b")
    worker(declare("third:1.0") { |args| args }, queue: "a")
    calling = hub(name: "shop")
    chain = calling.chain([["first:1.0"], ["second:1.0", { "x" => "}{" }, { pass: "got" }], ["third:1.0", nil, { pass: :all }]])
    first = { "big" => 9_007_199_254_740_993, "none" => [] }
    assert_equal({ "all" => [{ "got" => first, "x" => "}{" }, "shop"] }, chain.result)
    assert_equal [chain.id, "#{chain.id}-2", "#{chain.id}-3"], chain.steps.map(&:id)
    assert_equal([%w[a done], %w[b done], %w[a done]], chain.status.map { |step| [step.queue, step.state] })
    assert_equal chain.id, calling.job(chain.steps[1].id).chain.id
    eventually("what is done") { server.held.empty? && server.client.keys("*:came:*").empty? }
  end

  def test_a_chain_into_a_queue_that_cannot_be_written_keeps_nothing_else_from_being_served
    worker(declare("add:1.0") { |args| args["x"] + 1 }, slots: 2)
    server.client.set("pshub:{elsewhere}:jobs", "of somebody else")
    calling = hub
    8.times { |n| calling.chain([["add:1.0", { x: n }], ["double:1.0", {}, { queue: "elsewhere", pass: "was" }]]) }
    # More than three times as many as there are slots.
    eventually("the steps") { server.held_count == 8 }
    assert_equal 2, calling.call("add:1.0", { x: 1 })
    assert_equal 3, calling.enqueue("add:1.0", { x: 2 }, tracked: true).result
    server.client.del("pshub:{elsewhere}:jobs")
    eventually("the steps there") { server.client.llen("pshub:{elsewhere}:jobs") == 8 && server.held.empty? }
  end

  def test_a_chain_is_known_by_the_steps_that_have_records_and_not_where_none_has_one
    fails = true
    worker(noting, declare("once:1.0", retries: 0) { fails && raise("no") })
    calling = hub
    chain = calling.chain([["note:1.0"], ["once:1.0"], ["note:1.0", 2]], tracked: nil)
    assert_raises(Pshub::TaskFailed) { chain.result }
    server.client.del("pshub:{default}:job:#{chain.id}")
    assert_equal(%w[done dead pending], chain.status.map(&:state))
    server.client.del("pshub:{default}:job:#{chain.id}-2")
    %i[status cancel result].each { |ask| assert_raises(Pshub::NoSuchJob) { chain.public_send(ask) } }
    assert_empty server.client.keys("pshub:{default}:job:*")
    fails = false
    assert_equal 1, calling.dead("default").retry
    assert_equal({ "attempt" => 1 }, chain.result)
    assert_equal(%w[note:1.0 once:1.0 note:1.0], chain.status.map(&:task))
  end

  def test_a_chain_that_fails_goes_no_further_and_one_that_is_cancelled_neither
    worker(noting, declare("fail:1.0", retries: 0) { raise "no" })
    calling = hub
    failing = calling.chain([["fail:1.0"], ["note:1.0"]])
    assert_equal "no", assert_raises(Pshub::TaskFailed) { failing.result }.message
    assert_equal(%w[dead pending], failing.status.map(&:state))
    chain = calling.chain([["note:1.0", 1, { queue: "later" }], ["note:1.0", 2, { queue: "later" }]])
    chain.cancel
    assert_equal(%w[cancelled cancelled], chain.status.map(&:state))
    worker(noting, queue: "later")
    calling.enqueue("note:1.0", 3, queue: "later", tracked: true).result
    assert_equal [3, 0], [@tries.pop, @tries.size]
    [[[]], [[["note:1.0", {}, { pass: "x" }]]], [[["note:1.0"], ["note:1.0", [1], { pass: "x" }]]],
     [[["note:1.0"], ["note:1.0", {}, { pass: "__proto__" }]]]].each do |entries|
      assert_raises(Pshub::InvalidArgs, entries.inspect) { calling.chain(*entries) }
    end
  end

  def test_a_batch_over_two_queues_is_followed_once_when_all_have_ended
    worker(noting, noting("after:1.0"), queue: "a")
    worker(declare("half:1.0", retries: 0) { |args| args["fail"] ? raise("no") : 1 }, queue: "b")
    calling = hub
    good = calling.batch([*Array.new(5) { ["note:1.0", "n"] }, *Array.new(5) { ["half:1.0"] }],
                         then: ["after:1.0", "then", { keep_result_ms: 9000 }], failed: ["after:1.0", "failed"])
    assert_equal({ "attempt" => 1 }, good.after.result)
    assert_equal [10, 10, 0], good.status.to_h.values_at(:total, :done, :dead)
    refute_nil good.status.ended_ms
    bad = calling.batch([["half:1.0"], ["half:1.0", { fail: true }]], then: ["after:1.0", "then"],
                        failed: ["after:1.0", "failed", { tracked: true }])
    bad.failed.result
    assert_equal [2, 1, 1], bad.status.to_h.values_at(:total, :done, :dead)
    assert_equal({ "n" => 5, "then" => 1, "failed" => 1 }, Array.new(@tries.size) { @tries.pop }.tally)
    first = calling.enqueue("half:1.0", { n: 1 }, unique: true, delay_ms: 300)
    twins = calling.batch([["half:1.0", { n: 1 }, { unique: true }]] * 2, then: ["after:1.0", "twins"])
    twins.after.result
    assert_equal [1, 1, "done"], [twins.status.total, twins.status.done, first.status.state]
    assert_raises(Pshub::InvalidArgs) { calling.batch([]) }
    eventually("what is done") { server.held.empty? }
  end
end
