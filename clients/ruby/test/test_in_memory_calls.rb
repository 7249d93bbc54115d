# frozen_string_literal: true

require_relative "stages"

# The contract of InMemory, one half: what callers see, in memory and on a real Redis.
module InMemoryCallCases
  include Stages::Cases

  NUMBER = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }.freeze

  def twice = declare("twice:1.0", args: NUMBER, idempotent: true) { |args| 2 * args["n"] }
  def newer = declare("twice:1.1", args: NUMBER, idempotent: true) { |args| (2 * args["n"]) + 0.1 }

  def test_calls_by_exact_version_newest_minor_and_newest_version_and_several_at_once
    stage.worker(twice, newer)
    hub = stage.hub
    assert_equal([42, 2.1, 4.1], [hub.call("twice:1.0", { n: 21 }), hub.call("twice:1", { n: 1 }), hub.call("twice", { n: 2 })])
    told = hub.gather({ a: ["twice:1.0", { n: 1 }], b: ["twice:1.0", { n: "x" }] })
    assert_equal([2, "InvalidArgs"], [told[:a].value, told[:b].error.code])
    pending = Array.new(200) { |n| hub.submit("twice:1.0", { n: n }) }
    assert_equal(Array.new(200) { |n| 2 * n }, pending.map(&:result))
  end

  def test_any_json_there_and_back
    stage.worker(declare("echo:1.0") { |args| args })
    hub = stage.hub
    given = { "text" => "Grüße, 世界 🎈 \u0000 \\ \"", "empty" => [[], {}, ""], "big" => (2**53) - 1, "nothing" => nil }
    assert_equal(given, hub.call("echo:1.0", given))
    long = { "text" => "ä" * 200_000 }
    assert_equal(long, hub.call("echo:1.0", long))
  end

  def test_what_is_wrong_with_a_call
    failing = declare("failing:1.0") { raise Pshub::TaskError.new("no such city", code: "NoSuchCity", data: { city: "Atlantis" }) }
    stage.worker(twice, failing, declare("wrong:1.0", result: { type: "integer" }) { "text" })
    hub = stage.hub
    assert_equal(%w[InvalidArgs no], failure { hub.call("twice:1.0", { n: "x" }) })
    assert_equal(%w[NoSuchTask no], failure { hub.call("twice:2.0", { n: 1 }) })
    assert_equal(%w[NoSuchCity yes], failure { hub.call("failing:1.0") })
    assert_equal(%w[InvalidResult yes], failure { hub.call("wrong:1.0") })
  end

  def test_calls_end_at_their_deadline_and_none_starts_behind_it
    started = []
    slow = declare("slow:1.0") do |args, ctx|
      started << args["at"]
      ctx.wait(10)
    end
    stage.worker(slow, slots: 1)
    hub = stage.hub
    first = hub.submit("slow:1.0", { at: 1 }, timeout: 0.7)
    second = hub.submit("slow:1.0", { at: 2 }, timeout: 0.3)
    stage.pass(1)
    assert_equal(%w[Timeout maybe], failure { first.result })
    assert_includes(%w[Timeout Expired Overloaded], failure { second.result }.first)
    stage.pass(0.5)
    assert_equal([1], started)
  end

  def test_a_handler_ends_whose_caller_gave_up
    aborted = []
    slow = declare("slow:1.0", timeout: 60) { |args, ctx| ctx.wait(30) && (aborted << args["at"]) }
    stage.worker(slow)
    called = stage.hub.submit("slow:1.0", { at: 1 })
    stage.pass(0.2)
    called.cancel
    assert_equal(%w[Aborted maybe], failure { called.result })
    stage.pass(2)
    assert_equal([1], aborted)
  end

  def test_another_worker_runs_what_one_held_that_died_if_that_may_be_run_twice
    runs = []
    tasks = lambda do |worker|
      [["again", true], ["once", false]].map do |name, idempotent|
        declare("#{name}:1.0", idempotent: idempotent) do |_, ctx|
          runs << "#{worker} #{name}"
          ctx.wait(20) if worker == "first"
          "by #{worker}"
        end
      end
    end
    die = stage.worker(*tasks.call("first"))
    hub = stage.hub
    again, once = %w[again once].map { |name| hub.submit("#{name}:1.0", {}, timeout: 30) }
    stage.pass(0.3)
    assert_equal(["first again", "first once"], runs.sort)
    stage.worker(*tasks.call("second"))
    die.call
    stage.pass(6.5)
    assert_equal("by second", failure { again.result })
    assert_equal(%w[WorkerLost maybe], failure { once.result })
    assert_equal(["second again"], runs.drop(2))
  end

  def test_calls_fail_while_redis_is_away_as_certainly_not_enqueued_and_go_on_when_it_is_back
    stage.worker(twice)
    hub = stage.hub
    assert_equal(2, hub.call("twice:1.0", { n: 1 }))
    stage.go_away
    called = hub.submit("twice:1.0", { n: 2 }, timeout: 5)
    stage.pass(1.5)
    assert_equal(%w[NotEnqueued no], failure { called.result })
    stage.come_back
    assert_equal(6, hub.call("twice:1.0", { n: 3 }))
  end

  def test_chunks_come_once_and_in_order_and_a_loop_that_is_left_ends_the_handler
    ended = []
    count = declare("count:1.0", timeout: 60) do |args|
      Enumerator.new do |chunks|
        args["upto"].times { |n| chunks << n }
      ensure
        ended << true
      end
    end
    stage.worker(count)
    hub = stage.hub
    chunks = []
    hub.stream("count:1.0", { upto: 300 }) { |chunk| chunks << chunk }
    assert_equal((0...300).to_a, chunks)
    assert_equal([0, 1, 2], hub.call("count:1.0", { upto: 3 }))
    hub.stream("count:1.0", { upto: 10**9 }) { |chunk| break if chunk == 40 }
    stage.pass(3)
    assert_equal([true] * 3, ended)
  end

  def test_a_stream_ends_where_nothing_comes_for_too_long
    halting = declare("halting:1.0", timeout: 60) { |_, ctx| Enumerator.new { |chunks| (chunks << 1) && ctx.wait(20) } }
    stage.worker(halting)
    read = []
    ended = begun { stage.hub.stream("halting:1.0", {}, idle: 0.8) { |chunk| read << chunk } }
    stage.pass(2.5)
    assert_equal(%w[Timeout maybe], ended.value)
    assert_equal([1], read)
  end

  def test_progress_comes_to_the_caller
    steps = declare("steps:1.0", timeout: 20) do |_, ctx|
      ctx.progress(1, 4, "begun")
      ctx.wait(0.4)
      "done"
    end
    stage.worker(steps)
    told = []
    assert_equal("done", stage.hub.stream("steps:1.0", {}, on_progress: ->(progress) { told << progress.to_a }) { flunk })
    assert_equal([1, 4, "begun"], told.first)
  end
end

class TestInMemoryCalls < PshubTest
  include InMemoryCallCases

  def stage = @stage ||= Stages::Memory.new

  def test_kits_beside_each_other_have_redises_of_their_own
    stage.worker(twice)
    assert_equal(2, stage.hub.call("twice:1.0", { n: 1 }))
    other = Pshub::InMemory.new
    assert_equal(%w[NoSuchTask no], failure { other.hub.call("twice:1.0", { n: 1 }) })
    other.close
  end
end

class TestRealCalls < PshubTest
  include InMemoryCallCases

  def stage = @stage ||= Stages::Real.new(server)
end
