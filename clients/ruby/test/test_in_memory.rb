# frozen_string_literal: true

require_relative "helper"
require "pshub/testing/minitest"
require "pshub/testing/rspec"

# What InMemory adds to a hub and a worker: looking at jobs, draining them, the clock, and faults on demand.
class TestInMemory < PshubTest
  include Pshub::MinitestHelpers

  def setup
    super
    sent = @sent = []
    @mail = declare("mail:1.0", retries: 2, backoff: 60_000) do |args, ctx|
      sent << args
      raise "refused #{ctx.attempt}" if args["failures"].to_i >= ctx.attempt

      ctx.attempt
    end
    @daily = declare("daily:1.0") { sent << "daily" }
    @stuck = declare("stuck:1.0") { |_, ctx| ctx.wait(3600) }
  end

  def test_expect_enqueued_finds_what_was_enqueued_with_matchers_in_the_arguments
    kit = in_memory(@mail, @daily)
    kit.hub.enqueue(@mail, { to: "ada", lines: ["ü", 2] }, delay_ms: 60_000)
    kit.hub.enqueue_many([["mail:1.0", { to: "bob" }], ["daily:1.0", {}]])
    found = kit.expect_enqueued(@mail, { to: "ada", lines: ["ü", 2] })
    assert_equal(["mail:1.0", "default", nil], [found.task, found.queue, found.key])
    assert_operator(kit.expect_enqueued("mail", { to: String, lines: [/ü/, 1..2] }).due_ms, :>, kit.clock.now_ms + 50_000)
    assert_operator(assert_enqueued(kit, "mail:1", { "to" => "bob" }).due_ms, :<=, kit.clock.now_ms)
    assert_equal([{ "to" => "ada", "lines" => ["ü", 2] }, { "to" => "bob" }], kit.enqueued("mail").map(&:args))
    assert_equal(3, kit.enqueued.size)
    refute_enqueued(kit, "other:1.0")
  end

  def test_expect_enqueued_says_what_was_enqueued_where_that_was_not
    kit = in_memory(@mail, @daily)
    assert_equal("No job of mail:1.0 was enqueued. Enqueued: nothing.", why_not(kit, @mail))
    kit.hub.enqueue("daily:1.0")
    assert_match(/Enqueued: daily:1.0.\z/, why_not(kit, @mail, { to: "ada" }))
    kit.hub.enqueue(@mail, { to: "bob" })
    [{ to: "ada" }, { to: "bob", cc: "ada" }, { to: ["bob"] }, {}, []].each do |wrong|
      assert_match(/Enqueued: \{"to"\s*=>\s*"bob"\}.\z/, why_not(kit, @mail, wrong))
    end
    assert_raises(Minitest::Assertion) { assert_enqueued(kit, @mail, { to: "ada" }) }
    assert_raises(Minitest::Assertion) { refute_enqueued(kit, @mail) }
  end

  def test_the_matcher_of_rspec
    kit = in_memory(@mail)
    kit.hub.enqueue(@mail, { to: "bob" })
    matcher = Pshub::RSpecHelpers::HaveEnqueued.new("mail:1.0").with(to: "bob")
    assert(matcher.matches?(kit))
    assert_match(/have enqueued mail:1.0 with/, matcher.description)
    other = Pshub::RSpecHelpers::HaveEnqueued.new("mail:1.0").with(to: "ada")
    refute(other.matches?(kit))
    assert_match(/No job of mail:1.0 was enqueued with/, other.failure_message)
  end

  def test_kits_of_rspec_end_with_their_example
    behind = nil
    group = Class.new { define_singleton_method(:after) { |&block| behind = block } }
    example = group.include(Pshub::RSpecHelpers).new
    kit = example.in_memory(@mail)
    assert(example.have_enqueued("mail:1.0").matches?(kit.tap { kit.hub.enqueue(@mail, {}) }))
    example.instance_exec(&behind)
    assert_raises(Pshub::HubClosed) { kit.hub.enqueue(@mail, {}) }
  end

  def test_jobs_wait_until_drain_with_what_they_enqueue_themselves
    kit = nil
    twice = declare("twice:1.0") { kit.hub.enqueue("mail:1.0", { to: "by twice" }) && nil }
    kit = in_memory(@mail, twice, jobs: "wait")
    kit.hub.enqueue("twice:1.0")
    kit.hub.enqueue(@mail, { to: "later" }, delay_ms: 60_000)
    kit.clock.advance(3)
    assert_empty(@sent)
    assert_equal([2, 0], [kit.drain, kit.drain])
    assert_equal([{ "to" => "by twice" }], @sent)
    kit.clock.advance(60)
    assert_equal(1, kit.drain)
    assert_equal(1, kit.hub.call(@mail, { to: "called" }))
    assert_equal(3, @sent.size)
  end

  def test_inline_jobs_run_within_enqueue_and_fail_where_they_are_enqueued
    kit, sent = nil, @sent
    outer = declare("outer:1.0") do
      kit.hub.enqueue("mail:1.0", { to: "inner" })
      sent << "outer"
      nil
    end
    kit = in_memory(@mail, outer, jobs: :inline)
    job = kit.hub.enqueue(@mail, { to: "ada" }, tracked: true)
    assert_equal([[{ "to" => "ada" }], "done"], [sent, job.status.state])
    assert_equal("refused 1", assert_raises(RuntimeError) { kit.hub.enqueue(@mail, { failures: 1 }) }.message)
    kit.hub.enqueue(@mail, { to: "later" }, delay_ms: 1000)
    assert_equal(2, sent.size)
    kit.hub.enqueue("outer:1.0")
    assert_equal([{ "to" => "inner" }, "outer"], sent.drop(2))
  end

  def test_drain_tells_what_does_not_end
    kit = in_memory(@stuck)
    kit.hub.enqueue("stuck:1.0")
    told = assert_raises(RuntimeError) { kit.drain(timeout: 0.3) }.message
    assert_match(/timed out after 0.3 s: 1 handlers run; left are 1 in pshub:{default}:held:/, told)
  end

  def test_a_worker_that_died_can_be_started_again_and_takes_over_what_it_held
    ran = []
    hold = declare("hold:1.0", idempotent: true) do |_, ctx|
      ran << "start"
      ctx.wait(20) if ran.size == 1
      "done"
    end
    kit = in_memory(hold)
    call = kit.hub.submit("hold:1.0", {}, timeout: 60)
    kit.clock.advance(0.01)
    assert_equal(1, kit.worker.busy)
    kit.worker.die
    assert_equal(0, kit.worker.busy)
    assert_match(/already stopped or killed/, assert_raises(Pshub::ConfigError) { kit.worker.die }.message)
    kit.worker.start
    assert_match(/already running/, assert_raises(Pshub::ConfigError) { kit.worker.start }.message)
    kit.clock.advance(8)
    assert_equal("done", call.result)
  end

  def test_redis_is_away_for_as_long_as_the_test_says_and_all_find_it_again
    kit = in_memory(@mail)
    kit.hub.call(@mail, {})
    states = []
    %w[down up].each { |name| kit.worker.worker.events.on("redis:#{name}") { states << name } }
    kit.redis.go_away
    kit.redis.come_back
    assert_equal(%w[down down up up], states.sort)
    assert_equal(1, kit.hub.call(@mail, {}))
    assert_equal(1, kit.redis.command("EXISTS", "pshub:workers"))
    assert_match(/unknown command/, assert_raises(Pshub::RedisError) { kit.redis.command("NONSENSE") }.message)
  end

  def test_wrong_options_are_refused
    assert_match(/'jobs' must be one of run, inline, wait/, assert_raises(Pshub::ConfigError) { in_memory(@mail, jobs: "later") }.message)
    assert_match(/slots/, assert_raises(Pshub::ConfigError) { in_memory(@mail, worker: { slots: 0 }) }.message)
    assert_match(/what task made/, assert_raises(Pshub::ConfigError) { in_memory(-> { 1 }) }.message)
  end

  def test_nothing_is_left_of_it
    before = Thread.list.size
    kit = Pshub::InMemory.new(@mail)
    kit.hub.call(@mail, {})
    kit.clock.advance(100)
    kit.worker.die
    kit.close
    eventually("the end of its threads") { Thread.list.size <= before }
    assert_equal(0, Pshub::Clock.ahead_s)
  end

  private

  def why_not(kit, task, args = nil) = assert_raises(Pshub::NotEnqueuedAsExpected) { kit.expect_enqueued(task, args) }.message
end
