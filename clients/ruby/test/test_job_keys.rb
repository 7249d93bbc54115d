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
    assert key.skip
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

  def test_a_key_that_runs_and_one_of_a_line
    task = noting { @lets_go.pop }
    worker(task, declare("line:1.0", keyed: "ordered") { 1 })
    calling = hub
    calling.enqueue(TASK, 1, key: "ü")
    seen(1)
    key = calling.key(TASK, "\xfc".dup.force_encoding(Encoding::ISO_8859_1))
    run = key.status.run
    assert_equal [@runs.first.fence, @runs.first.fence / 1000, "m-#{@runs.first.fence}"], [run.fence, run.since_ms, run.id]
    assert_equal "pshub:{default}:held:#{run.worker}", server.held.first
    error = assert_raises(Pshub::InvalidArgs) { key.skip }
    assert_equal "merge:1.0, key \"ü\": nothing is skipped, because it runs now. Wait for the end of its run.", error.message
    @lets_go << true
    job = calling.enqueue("line:1.0", { n: 1 }, key: "b", delay_ms: 60_000)
    line = calling.key("line:1.0", "b")
    status = line.status
    assert_equal ["later", 1, [[job.id, { "n" => 1 }, 0]]], [status.state, status.waiting, status.jobs.map { |each| each.to_a.first(3) }]
    assert line.skip
    assert_equal ["Skipped"], line.dead.map { |dead| dead.errors.last["code"] }
    # What is somebody else's counts as nothing.
    server.client.set(QUEUE.merged(TASK, "c"), "x")
    server.client.hset(QUEUE.tried(TASK), "c", "{")
    server.client.hset(QUEUE.running(TASK), "c", "x")
    assert_equal ["empty", 0, 0], calling.key(TASK, "c").status.to_h.values_at(:state, :waiting, :tries)
    assert_raises(Pshub::InvalidArgs) { calling.key(TASK, "") }
    assert_raises(Pshub::NoSuchTask) { calling.key("unseen:1.0", "a") }
  end
end
