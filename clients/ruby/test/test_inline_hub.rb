# frozen_string_literal: true

require_relative "helper"
require "pshub/testing/minitest"
require "pshub/testing/rspec"

# Tests without Redis: tasks run in the caller, with the checks of a worker.
class TestInlineHub < Minitest::Test
  include Pshub::MinitestHelpers

  SENT = []
  MAIL = { type: "object", properties: { to: { type: "string" }, failures: { type: "integer" } }, required: ["to"] }.freeze
  NUMBER = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }.freeze

  SEND_MAIL = Pshub.task("send_mail:1.0", args: MAIL, retries: 2, backoff: [60_000, 600_000]) do |args, ctx|
    raise "refused #{ctx.attempt}" if args.fetch("failures", 0) >= ctx.attempt
    if args["to"] == "nobody"
      raise Pshub::TaskError.new("no such address", code: "NoSuchAddress", http_status: 404, retryable: false)
    end

    SENT << args["to"]
    ctx.attempt
  end
  DOUBLE = Pshub.task("double:1.0", args: NUMBER) { |args| 2 * args["n"] }
  NEWER = Pshub.task("double:1.1", args: NUMBER) { |args| 20 * args["n"] }
  THROUGH = Pshub.task("through:1.0", args: NUMBER) { |args, ctx| ctx.call("double:1.0", { n: args["n"] }) + 1 }
  WRONG = Pshub.task("wrong:1.0", result: { type: "integer" }) { "text" }

  def setup = SENT.clear

  def test_calls_run_in_the_caller_with_the_checks_of_a_worker
    hub = inline_hub(SEND_MAIL, DOUBLE, NEWER, THROUGH, WRONG)
    assert_equal [4, 40, 6, 11], [hub.call("double:1.0", { n: 2 }), hub.call("double", { n: 2 }), hub.call(DOUBLE, { n: 3 }), hub.call(THROUGH, { n: 5 })]
    refused = assert_raises(Pshub::InvalidArgs) { hub.call("double:1.0", { n: "x" }) }
    assert_equal "/n", refused.data["problems"].first["pointer"]
    assert_raises(Pshub::InvalidResult) { hub.call("wrong:1.0") }
    assert_raises(Pshub::NoSuchTask) { hub.call("doubel:1.0", { n: 1 }) }
    failed = assert_raises(Pshub::TaskFailed) { hub.call(SEND_MAIL, { to: "nobody" }) }
    assert_equal ["NoSuchAddress", 404, "yes"], [failed.code, failed.http_status, failed.ran]
    assert_kind_of Pshub::TaskError, failed.cause
  end

  def test_jobs_wait_for_drain
    hub = inline_hub(SEND_MAIL)
    job = hub.enqueue(SEND_MAIL, { to: "ada" })
    later = hub.enqueue("send_mail", { to: "bob" }, delay_ms: 3_600_000)
    assert_equal [[], "waiting"], [SENT, job.state]
    assert_raises(Pshub::Timeout) { job.result }
    assert_equal 1, hub.drain
    assert_equal [["ada"], 1, "waiting"], [SENT, job.result, later.state]
    hub.advance(3600)
    assert_equal [1, %w[ada bob], 0], [hub.drain, SENT, hub.drain]
  end

  def test_what_was_enqueued_is_found_by_its_arguments
    hub = inline_hub(SEND_MAIL, DOUBLE)
    hub.enqueue_many([["send_mail:1.0", { to: "ada" }], [DOUBLE, { n: 1 }, { delay_ms: 1000 }]])
    hub.enqueue("elsewhere:1.0", { a: [1] }, queue: "others")
    assert_equal({ "to" => "ada" }, assert_enqueued(hub, SEND_MAIL, { to: String }).args)
    assert_operator assert_enqueued(hub, "double:1").due_ms, :>, hub.now_ms
    assert_equal "others", assert_enqueued(hub, "elsewhere", { a: [1] }).queue
    missing = assert_raises(Minitest::Assertion) { assert_enqueued(hub, SEND_MAIL, { to: "bob" }) }
    assert_match(/No job of send_mail:1.0 was enqueued with .*bob.* Enqueued: .*ada/, missing.message)
    assert_raises(Minitest::Assertion) { refute_enqueued(hub, DOUBLE) }
    refute_enqueued(hub, "send_mail:2")
    assert_raises(Pshub::InvalidArgs) { hub.enqueue(DOUBLE, { n: "x" }) }
    assert_raises(Pshub::InvalidArgs) { hub.enqueue(DOUBLE, { n: 1 }, delay: 5) }
    assert_equal 3, hub.enqueued.size
  end

  def test_what_fails_is_tried_again_when_that_is_due_and_given_up_at_last
    hub = inline_hub(SEND_MAIL)
    job = hub.enqueue(SEND_MAIL, { to: "ada", failures: 2 })
    assert_equal [1, "retrying", 1], [hub.drain, job.state, job.tries]
    hub.advance(59)
    assert_equal 0, hub.drain
    hub.advance(2)
    assert_equal [1, "refused 2"], [hub.drain, job.error.message]
    hub.advance(601)
    assert_equal [1, 3], [hub.drain, job.result]
    dead = hub.enqueue(SEND_MAIL, { to: "nobody" })
    assert_equal [1, "dead", [dead.id]], [hub.drain, dead.state, hub.dead_jobs.map(&:id)]
    assert_raises(Pshub::TaskFailed) { dead.result }
  end

  def test_inline_jobs_run_where_they_are_enqueued
    hub = inline_hub(SEND_MAIL, jobs: :inline)
    assert_equal "done", hub.enqueue(SEND_MAIL, { to: "ada" }).state
    assert_equal "refused 1", assert_raises(RuntimeError) { hub.enqueue(SEND_MAIL, { to: "bob", failures: 1 }) }.message
    assert_equal "waiting", hub.enqueue(SEND_MAIL, { to: "later" }, delay_ms: 1000).state
    assert_equal ["ada"], SENT
  end

  def test_options_of_jobs_count
    hub = inline_hub(SEND_MAIL)
    first = hub.enqueue(SEND_MAIL, { to: "once" }, unique: true)
    twin = hub.enqueue(SEND_MAIL, { to: "once" }, unique: true)
    assert_equal [first.id, true, false, 1], [twin.id, twin.twin?, first.twin?, hub.enqueued.size]
    late = hub.enqueue(SEND_MAIL, { to: "late" }, expires_ms: 1000)
    hub.advance(2)
    hub.enqueue(SEND_MAIL, { to: "low" }, priority: "low")
    hub.enqueue(SEND_MAIL, { to: "high" }, priority: "high")
    hub.drain
    assert_equal [%w[high once low], "expired"], [SENT, late.state]
    refute hub.enqueue(SEND_MAIL, { to: "once" }, unique: true).twin?
  end

  def test_a_job_that_is_put_off_comes_back_and_a_key_keeps_its_order
    ran = []
    sync = Pshub.task("sync:1.0", keyed: "ordered") do |args|
      ran << args["n"]
      raise Pshub::PutOff.new(60_000, "not now") if ran == [1]
    end
    hub = inline_hub(sync)
    [1, 2].each { |n| hub.enqueue(sync, { n: n }, key: "k") }
    assert_equal [1, [1]], [hub.drain, ran]
    hub.advance(61)
    assert_equal [2, [1, 1, 2]], [hub.drain, ran]
  end

  # RSpec is not needed to ask what it asks.
  def test_rspec_has_a_matcher
    rspec = Object.new.extend(Pshub::RSpecHelpers)
    hub = rspec.inline_hub(SEND_MAIL)
    hub.enqueue(SEND_MAIL, { to: "ada" })
    assert rspec.have_enqueued("send_mail").with(to: /a/).matches?(hub)
    refute rspec.have_enqueued(DOUBLE).matches?(hub)
    missed = rspec.have_enqueued(SEND_MAIL).with(to: "bob")
    refute missed.matches?(hub)
    assert_match(/No job of send_mail:1.0 was enqueued with .*bob/, missed.failure_message)
    assert_match(/have enqueued send_mail:1.0 with .*bob.*should not/, missed.failure_message_when_negated)
  end

  def test_what_readme_says_runs
    chapter = File.read(File.join(ROOT, "clients/ruby/README.md"))[/^## Testing without Redis\n.*?(?=^## )/m]
    test, for_rspec = chapter.scan(/^```ruby\n(.*?)^```$/m).flatten
    lib = File.join(ROOT, "clients/ruby/lib")
    said, status = Open3.capture2e(RbConfig.ruby, "-I", lib, "-e", test)
    assert_predicate status, :success?, said
    assert_match(/1 runs, 4 assertions, 0 failures, 0 errors/, said)
    _, parsed = Open3.capture2e(RbConfig.ruby, "-c", "-e", for_rspec)
    assert_predicate parsed, :success?
  end

  def test_progress_is_heard
    steps = Pshub.task("steps:1.0") { |_, ctx| ctx.progress(1, 2, "half") || 3 }
    hub = inline_hub(steps)
    told = []
    assert_equal [3, 3], [hub.call(steps, {}, on_progress: ->(progress) { told << progress.to_a }), hub.call(steps)]
    assert_equal [[1, 2, "half"]], told
    assert_raises(Pshub::InvalidArgs) { hub.call(steps, {}, on_progress: 3) }
  end

  def test_says_what_it_cannot_do
    hub = inline_hub(DOUBLE)
    assert_match(/has no chain/, assert_raises(Pshub::ConfigError) { hub.chain([]) }.message)
    assert_raises(Pshub::ConfigError) { inline_hub(DOUBLE, jobs: "later") }
    assert_raises(Pshub::ConfigError) { inline_hub(:double) }
    assert_raises(Pshub::ConfigError) { hub.advance(-1) }
    hub.close
    assert_raises(Pshub::HubClosed) { hub.call("double:1.0", { n: 1 }) }
    assert_raises(Pshub::HubClosed) { hub.enqueue("double:1.0", { n: 1 }) }
  end
end
