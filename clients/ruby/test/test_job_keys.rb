# frozen_string_literal: true

require_relative "merging"

# A key of jobs: looked at, and helped.
class TestJobKeys < PshubTest
  include Merging

  def test_a_key_can_be_looked_at_and_helped
    task = noting(backoff: 60_000) { raise "not yet" }
    calling = declared(task)
    key = calling.key(task, "a")
    assert_equal ["default", TASK, "a"], [key.queue, key.task, key.key]
    empty = { queue: "default", task: TASK, key: "a", state: "empty", due_ms: nil, run: nil, waiting: 0, payloads: [], jobs: [] }
    assert_equal({ **empty, tries: 0, errors: [] }, key.status.to_h)
    calling.enqueue(TASK, { v: 1 }, key: "a", score: 1)
    status = key.status
    assert_equal ["due", 1, [[{ "v" => 1 }, 1.0]]], [status.state, status.waiting, status.payloads.map(&:to_a)]
    assert_operator status.due_ms, :<=, now_ms
    begun_ms = now_ms
    worker(task)
    eventually("the failure") { key.status.state == "later" }
    status = key.status
    assert_equal [1, ["not yet"]], [status.tries, status.errors.map { |error| error["message"] }]
    assert_operator status.due_ms, :>=, begun_ms + 60_000
    assert_equal 1, key.run_now
    eventually("the second one") { key.status.tries == 2 }
    calling.enqueue(TASK, { v: 2 }, key: "a", score: 2)
    refute key.skip(score: 2)
    assert key.skip(score: 1)
    # What is behind it is due now.
    assert_equal [["a", [{ "v" => 2 }]]], seen(3).last
    assert_equal [[1, { "v" => 1 }]], key.dead.map { |job| [job.score, job.args] }
    eventually("the third one") { key.status.state == "later" }
    assert_equal 1, key.delete
    assert_equal ["empty", 0], [key.status.state, key.delete]
    refute key.skip
    assert_equal 1, key.retry_dead
    assert_equal [["a", [{ "v" => 1 }]]], seen(4).last
  end
end
