# frozen_string_literal: true

require_relative "helper"
require "pshub/testing/in_memory"

# What a hub and a worker do on the Redis in memory wherever time matters; the test moves the clock.
class TestInMemoryContract < PshubTest
  def setup
    super
    @kit = ending(Pshub::InMemory.new, :close)
    @seen = []
  end

  def hub = ending(Pshub::Hub.new(redis: @kit.redis.target), :close)
  def serve(*tasks, **options) = @kit.start_worker(*tasks, queue: "q", **options)
  def pass(seconds) = @kit.clock.advance(seconds)

  # How it fails, as far as a caller goes by it; or else what it returns.
  def failure
    yield
  rescue Pshub::HubError => e
    [e.code, e.ran]
  end

  def noting
    declare("note:1.0") do |args, ctx|
      @seen << args
      { "attempt" => ctx.attempt }
    end
  end

  def test_calls_end_at_their_deadline_and_none_starts_behind_it
    slow = declare("slow:1.0") do |args, ctx|
      @seen << args["at"]
      ctx.wait(10)
    end
    serve(slow, slots: 1)
    calling = hub
    first = calling.submit("slow:1.0", { at: 1 }, timeout: 7)
    second = calling.submit("slow:1.0", { at: 2 }, timeout: 3)
    pass(10)
    assert_equal(%w[Timeout maybe], failure { first.result })
    assert_includes(%w[Timeout Expired Overloaded], failure { second.result }.first)
    pass(5)
    assert_equal([1], @seen)
  end

  def test_another_worker_runs_what_one_held_that_died_if_that_may_be_run_twice
    tasks = lambda do |worker|
      [["again", true], ["once", false]].map do |name, idempotent|
        declare("#{name}:1.0", idempotent: idempotent) do |_, ctx|
          @seen << "#{worker} #{name}"
          ctx.wait(20) if worker == "first"
          "by #{worker}"
        end
      end
    end
    first = serve(*tasks.call("first"))
    calling = hub
    again, once = %w[again once].map { |name| calling.submit("#{name}:1.0", {}, timeout: 30) }
    pass(0.3)
    assert_equal(["first again", "first once"], @seen.sort)
    serve(*tasks.call("second"))
    first.die
    pass(6.5)
    assert_equal("by second", failure { again.result })
    assert_equal(%w[WorkerLost maybe], failure { once.result })
    assert_equal(["second again"], @seen.drop(2))
  end

  def test_a_stream_ends_where_nothing_comes_for_too_long
    serve(declare("halting:1.0", timeout: 60) { |_, ctx| Enumerator.new { |chunks| (chunks << 1) && ctx.wait(20) } })
    calling = hub
    ended = Thread.new { failure { calling.stream("halting:1.0", {}, idle: 5) { |chunk| @seen << chunk } } }
    eventually("the first chunk") { @seen == [1] }
    pass(10)
    assert_equal(%w[Timeout maybe], ended.value)
  end

  def test_calls_and_jobs_while_redis_is_away
    serve(noting)
    calling = hub
    calling.enqueue("note:1.0", { a: 1 }, delay_ms: 10_000)
    @kit.redis.go_away
    called = calling.submit("note:1.0", { a: 2 }, timeout: 5)
    pass(1.5)
    assert_equal(%w[NotEnqueued no], failure { called.result })
    @kit.redis.come_back
    pass(10)
    assert_equal([{ "a" => 1 }], @seen)
    assert_equal({ "attempt" => 1 }, calling.call("note:1.0", { a: 3 }))
  end

  def test_no_job_runs_before_its_time_and_none_that_has_expired
    serve(noting)
    calling = hub
    calling.enqueue("note:1.0", { at: "later" }, delay_ms: 1200)
    pass(0.7)
    assert_empty(@seen)
    pass(1)
    assert_equal([{ "at" => "later" }], @seen)
    calling.pause("q")
    pass(1.2)
    late = calling.enqueue("note:1.0", { at: "too late" }, expires_ms: 300, tracked: true)
    pass(0.6)
    calling.resume("q")
    pass(1.5)
    assert_equal(["expired", 1], [late.status.state, @seen.size])
  end

  def test_what_fails_is_retried_after_its_delays_and_is_dead_at_last
    flaky = declare("flaky:1.0", retries: 3, backoff: [200, 600]) do |args, ctx|
      @seen << ctx.attempt
      raise "failed #{ctx.attempt}" if args["fails"] >= ctx.attempt

      ctx.attempt
    end
    serve(flaky)
    calling = hub
    job = calling.enqueue("flaky:1.0", { fails: 2 }, tracked: true)
    pass(2.5)
    assert_equal([3, [1, 2, 3]], [job.result, @seen])
    calling.enqueue("flaky:1.0", { fails: 9 }, retries: 1)
    pass(1.5)
    dead = calling.dead("q")
    assert_equal([["flaky:1.0", "failed 2"]], dead.list.map { |each| [each.task, each.errors.last["message"]] })
    assert_equal(1, dead.retry(args: { fails: 0 }))
    pass(0.5)
    assert_equal([[1, 2, 3, 1, 2, 1], 0], [@seen, dead.count])
  end

  def test_keys_keep_their_order_and_what_waits_of_one_is_merged
    ordered = declare("ordered:1.0", keyed: "ordered") do |args|
      @seen << args["n"]
      raise "once" if @seen.size == 1
    end
    runs = []
    merged = declare("merged:1.0", keyed: "merged", batch: 10) { |by_key| runs.concat(by_key.to_a) }
    serve(ordered, merged)
    calling = hub
    [1, 2, 3].each { |n| calling.enqueue("ordered:1.0", { n: n }, key: "k", backoff: 200) }
    pass(1.5)
    assert_equal([1, 1, 2, 3], @seen)
    calling.pause("q")
    pass(1.2)
    [3, 1, 2, 1].each { |version| calling.enqueue("merged:1.0", { version: version }, key: "o/17", score: version) }
    calling.resume("q")
    pass(1.5)
    assert_equal([["o/17", [1, 2, 3].map { |version| { "version" => version } }]], runs)
  end

  def test_a_schedule_enqueues_at_its_times
    serve(noting)
    calling = hub
    schedule = calling.schedule("each-second", { cron: "* * * * * *" }, "note:1.0", { by: "cron" })
    assert_equal(["q", 0], [schedule.queue, schedule.next_ms % 1000])
    pass(3.6)
    assert_operator(@seen.size, :>=, 3)
    assert_equal(true, calling.schedules("q").remove("each-second"))
    before = @seen.size
    pass(1.6)
    assert_equal(before, @seen.size)
  end
end
