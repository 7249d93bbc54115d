# frozen_string_literal: true

require_relative "stages"

# The contract of InMemory, the other half: what becomes of jobs, in memory and on a real Redis.
module InMemoryJobCases
  include Stages::Cases

  def test_jobs_run_and_tell_how_they_fare
    stage.worker(noting(seen = []))
    hub = stage.hub
    job = hub.enqueue("note:1.0", { month: 11 }, tracked: true)
    assert_equal({ "attempt" => 1 }, job.result)
    assert_equal([{ "month" => 11 }], seen)
    assert_equal(["done", 0], [job.status.state, job.status.tries])
    many = hub.enqueue_many(Array.new(300) { |n| ["note:1.0", { n: n }] })
    stage.pass(1)
    assert_equal([300, 301], [many.ids.size, seen.size])
  end

  def test_none_runs_before_its_time_and_none_that_has_expired
    stage.worker(noting(seen = []))
    hub = stage.hub
    hub.enqueue("note:1.0", { at: "later" }, delay_ms: 1200)
    stage.pass(0.7)
    assert_empty(seen)
    stage.pass(1)
    assert_equal([{ "at" => "later" }], seen)
    hub.pause("q")
    stage.pass(1.2)
    late = hub.enqueue("note:1.0", { at: "too late" }, expires_ms: 300, tracked: true)
    stage.pass(0.6)
    hub.resume("q")
    stage.pass(1.5)
    assert_equal(["expired", 1], [late.status.state, seen.size])
  end

  def test_what_fails_is_tried_again_after_longer_and_longer_waits_and_is_dead_at_last
    tries = []
    flaky = declare("flaky:1.0", retries: 3, backoff: [200, 600]) do |args, ctx|
      tries << ctx.attempt
      raise "failed #{ctx.attempt}" if args["fails"] >= ctx.attempt

      ctx.attempt
    end
    stage.worker(flaky)
    hub = stage.hub
    job = hub.enqueue("flaky:1.0", { fails: 2 }, tracked: true)
    stage.pass(2.5)
    assert_equal([3, [1, 2, 3]], [job.result, tries])
    hub.enqueue("flaky:1.0", { fails: 9 }, retries: 1)
    stage.pass(1.5)
    dead = hub.dead("q")
    found = dead.list.first
    assert_equal(["flaky:1.0", "failed 2"], [found.task, found.errors.last["message"]])
    assert_equal(1, dead.retry(args: { fails: 0 }))
    stage.pass(0.5)
    assert_equal([[1, 2, 3, 1, 2, 1], 0], [tries, dead.count])
  end

  def test_what_is_unique_is_enqueued_once_until_it_has_ended
    stage.worker(noting(seen = []))
    hub = stage.hub
    first = hub.enqueue("note:1.0", { a: 1 }, unique: true, delay_ms: 400, tracked: true)
    twin = hub.enqueue("note:1.0", { a: 1 }, unique: true)
    assert_equal([true, first.id], [twin.twin?, twin.id])
    stage.pass(1)
    assert_equal(1, seen.size)
    refute_predicate(hub.enqueue("note:1.0", { a: 1 }, unique: true), :twin?)
  end

  def test_chains_and_batches
    add = declare("add:1.0") { |args| args["n"] + 1 }
    stage.worker(noting(seen = [], "after:1.0"), add)
    hub = stage.hub
    chain = hub.chain([["add:1.0", { n: 1 }], ["add:1.0", {}, { pass: "n" }], ["after:1.0", { slash: "a/b" }, { pass: "sum" }]])
    assert_equal({ "attempt" => 1 }, chain.result)
    assert_equal([{ "slash" => "a/b", "sum" => 3 }], seen)
    batch = hub.batch([1, 2, 3].map { |n| ["add:1.0", { n: n }] }, then: ["after:1.0", { all: true }, { tracked: true }])
    batch.after.result
    assert_equal({ "all" => true }, seen[1])
    assert_equal([3, 3, 0], batch.status.to_a.first(3))
  end

  def test_the_order_of_a_key_is_kept_and_what_waits_of_one_is_merged
    order, runs = [], []
    ordered = declare("ordered:1.0", keyed: "ordered") do |args|
      order << args["n"]
      raise "once" if order.size == 1
    end
    merged = declare("merged:1.0", keyed: "merged", batch: 10) { |by_key| runs.concat(by_key.to_a) }
    stage.worker(ordered, merged)
    hub = stage.hub
    [1, 2, 3].each { |n| hub.enqueue("ordered:1.0", { n: n }, key: "k", backoff: 200) }
    stage.pass(1.5)
    assert_equal([1, 1, 2, 3], order)
    hub.pause("q")
    stage.pass(1.2)
    [3, 1, 2, 1].each { |version| hub.enqueue("merged:1.0", { version: version }, key: "o/17", score: version) }
    hub.resume("q")
    stage.pass(1.5)
    assert_equal([["o/17", [1, 2, 3].map { |version| { "version" => version } }]], runs)
  end

  def test_a_schedule_enqueues_at_its_times
    stage.worker(noting(seen = []))
    hub = stage.hub
    schedule = hub.schedule("each-second", { cron: "* * * * * *" }, "note:1.0", { by: "cron" })
    assert_equal(["q", 0], [schedule.queue, schedule.next_ms % 1000])
    stage.pass(3.6)
    assert_operator(seen.size, :>=, 3)
    assert_equal(true, hub.schedules("q").remove("each-second"))
    before = seen.size
    stage.pass(1.6)
    assert_equal(before, seen.size)
  end

  def test_a_job_runs_again_whose_worker_died_and_none_that_was_cancelled
    die = stage.worker(declare("note:1.0") { |_, ctx| ctx.wait(20) })
    hub = stage.hub
    job = hub.enqueue("note:1.0", { a: 1 }, tracked: true)
    cancelled = hub.enqueue("note:1.0", { a: 2 }, tracked: true, delay_ms: 2000)
    stage.pass(0.3)
    assert_equal(true, cancelled.cancel)
    stage.worker(noting(seen = []))
    die.call
    stage.pass(6.5)
    assert_equal({ "attempt" => 1 }, job.result)
    assert_equal([[{ "a" => 1 }], "cancelled"], [seen, cancelled.status.state])
  end

  def test_jobs_stay_while_redis_is_away
    stage.worker(noting(seen = []))
    hub = stage.hub
    hub.enqueue("note:1.0", { a: 1 }, delay_ms: 1000)
    stage.go_away
    refused = begun { hub.enqueue("note:1.0", { a: 2 }, timeout_ms: 300) }
    stage.pass(0.6)
    assert_equal(%w[NotEnqueued no], refused.value)
    stage.come_back
    stage.pass(2.5)
    assert_equal([{ "a" => 1 }], seen)
  end

  def test_a_job_that_runs_tells_how_far_it_is
    steps = declare("steps:1.0") do |_, ctx|
      ctx.progress(3, 4)
      ctx.wait(20)
    end
    stage.worker(steps)
    job = stage.hub.enqueue("steps:1.0", {}, tracked: true)
    stage.pass(1)
    assert_equal(["running", 3, 4], [job.status.state, *job.status.progress.to_a.first(2)])
  end
end

class TestInMemoryJobs < PshubTest
  include InMemoryJobCases

  def stage = @stage ||= Stages::Memory.new
end

class TestRealJobs < PshubTest
  include InMemoryJobCases

  def stage = @stage ||= Stages::Real.new(server)
end
