# frozen_string_literal: true

require_relative "merging"

# Jobs that are merged: what waits of a key is a set of payloads with scores, and one run takes those of several keys.
class TestMergedJobs < PshubTest
  include Merging

  def test_they_are_handed_over_together_each_payload_once_the_lowest_score_first
    task = noting(batch: 10)
    calling = declared(task)
    calling.enqueue(TASK, { v: 3 }, key: "a", score: 3)
    calling.enqueue(TASK, { v: 1 }, key: "a", score: 1.5)
    job = calling.enqueue(TASK, "x", key: "ü {[")
    assert_equal ["default", TASK, false], [job.queue, job.task, job.twin?]
    many = calling.enqueue_many([[TASK, { v: 2.0, w: 0 }, { key: "a", score: 2 }], [TASK, { w: 0, v: 2 }, { key: "a", score: 2r }]])
    assert_equal 2, many.ids.uniq.size
    serving = worker(task)
    assert_equal [[["a", [{ "v" => 1 }, { "v" => 2, "w" => 0 }, { "v" => 3 }]], ["ü {[", ["x"]]]], seen(1)
    assert_equal [1, true], [@runs.first.attempt, @runs.first.fence.positive?]
    eventually("the end") { server.held.empty? }
    calling.close
    serving.stop
    assert_equal ["pshub:{default}:fence"], server.leftovers | ["pshub:{default}:fence"]
  end

  def test_what_comes_while_its_key_runs_waits_for_the_end_of_that
    task = noting { |_, _, run| @lets_go.pop if run == 1 }
    worker(task, slots: 4)
    calling = hub
    calling.enqueue(TASK, 1, key: "a", score: 1)
    seen(1)
    calling.enqueue(TASK, 1, key: "a", score: 2)
    calling.enqueue(TASK, 2, key: "a", score: 1)
    assert_equal({ "1" => 2.0, "2" => 1.0 }, waiting("a"))
    assert_equal "running", calling.key(TASK, "a").status.state
    assert_equal 1, @runs.size
    @lets_go << true
    assert_equal [[["a", [1]]], [["a", [2, 1]]]], seen(2)
    assert_operator @runs.first.fence, :<, @runs.last.fence
  end

  def test_a_run_that_failed_comes_back_merged_with_what_came_meanwhile
    task = noting(batch: 3, backoff: [50, 60_000]) do |_, _, run|
      @lets_go.pop if run == 2
      raise "no" if run < 3
    end
    calling = declared(task)
    %w[a b].each { |key| calling.enqueue(TASK, "v1", key: key, score: 1) }
    told = told_by(worker(task, slots: 4), "job:retried", "task:settled")
    seen(2)
    begun_ms = now_ms
    calling.enqueue(TASK, "v1", key: "a", score: 7)
    calling.enqueue(TASK, "v2", key: "a", score: 8, delay_ms: 5_000_000)
    @lets_go << true
    eventually("the failures") { %w[a b].all? { |key| tries(key) == 2 && due_ms(key) } }
    assert_equal({ '"v1"' => 7.0, '"v2"' => 8.0 }, waiting("a"))
    assert_operator due_ms("a"), :>=, begun_ms + 60_000
    assert_equal [1, 2], @runs.map(&:attempt)
    events = taken(told, 6)
    retried = events.select { |name, _| name == "job:retried" }.map { |_, event| event.values_at(:id, :attempt, :delay_ms, :code) }
    ids = @runs.flat_map { |run| [1, 2].map { |number| "m-#{run.fence}-#{number}" } }
    assert_equal ids.zip([1, 1, 2, 2], [50, 50, 60_000, 60_000], ["TaskFailed"] * 4), retried
    assert_equal 2, events.count { |name, _| name == "task:settled" }
  end
end
