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

  def test_without_a_score_they_keep_the_order_in_which_they_were_enqueued
    task = noting
    calling = declared(task)
    numbers = (1..300).to_a.reverse
    numbers.each_slice(200) { |some| calling.enqueue_many(some.map { |n| [TASK, n, { key: "a" }] }) }
    worker(task)
    assert_equal [[["a", numbers]]], seen(1)
  end

  def test_what_comes_merges_with_what_waits_and_the_later_score_counts
    task = noting(backoff: 100_000) { raise "not yet" }
    calling = declared(task)
    calling.enqueue(TASK, "v1", key: "a", score: 1)
    calling.enqueue(TASK, "v2", key: "a", score: 2)
    worker(task)
    before = eventually("the failure") { due_ms("a") }
    calling.enqueue(TASK, "v2", key: "a", score: 3, delay_ms: 900_000)
    calling.enqueue(TASK, "v3", key: "a", score: 4)
    assert_equal({ '"v1"' => 1.0, '"v2"' => 3.0, '"v3"' => 4.0 }, waiting("a"))
    assert_equal [1, before], [tries("a"), due_ms("a")]
    assert_operator before, :>, now_ms + 60_000
  end

  def test_the_first_score_counts_where_the_task_says_so
    calling = declared(noting(scores: :first))
    [["v1", 5], ["v1", 3], ["v2", 4]].each { |payload, score| calling.enqueue(TASK, payload, key: "a", score: score) }
    assert_equal({ '"v1"' => 5.0, '"v2"' => 4.0 }, waiting("a"))
    assert_equal %w[merged first], JSON.parse(server.client.hget("pshub:tasks", TASK)).values_at("keyed", "scores")
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
    calling.enqueue(TASK, "v1", key: "a", score: 7)
    calling.enqueue(TASK, "v2", key: "a", score: 8, delay_ms: 5_000_000)
    @lets_go << true
    eventually("the failures") { %w[a b].all? { |key| tries(key) == 2 && due_ms(key) } }
    assert_equal({ '"v1"' => 7.0, '"v2"' => 8.0 }, waiting("a"))
    assert_in_delta 60_000, due_ms("a") - now_ms, 30_000
    assert_equal [1, 2], @runs.map(&:attempt)
    events = taken(told, 6)
    retried = events.select { |name, _| name == "job:retried" }.map { |_, event| event.values_at(:id, :attempt, :delay_ms, :code) }
    ids = @runs.flat_map { |run| [1, 2].map { |number| "m-#{run.fence}-#{number}" } }
    assert_equal ids.zip([1, 1, 2, 2], [50, 50, 60_000, 60_000], ["TaskFailed"] * 4), retried
    assert_equal 2, events.count { |name, _| name == "task:settled" }
  end

  def test_the_payload_with_the_lowest_score_is_given_up_after_so_many_tries_and_comes_back
    task = noting(retries: 1, backoff: 5) { |by_key| raise "bad one" if by_key["a"].include?("bad") }
    calling = declared(task)
    calling.enqueue_many([[TASK, "bad", { key: "a", score: 1 }], [TASK, "good", { key: "a", score: 2 }]])
    serving = worker(task)
    told = told_by(serving, "job:dead")
    seen(3)
    assert_equal [[%w[bad good], 1], [%w[bad good], 2], [["good"], 1]], @runs.map { |run| [run.keys.first.last, run.attempt] }
    dead = calling.dead("default").list(key: "a")
    assert_equal [[TASK, "bad", "a", 1, 2]], dead.map { |job| job.to_h.values_at(:task, :args, :key, :score, :tries) }
    assert_equal ["bad one", "bad one"], dead.first.errors.map { |error| error["message"] }
    assert_equal [dead.first.id, "TaskFailed: bad one"], taken(told, 1).first.last.values_at(:id, :reason)
    assert_equal 0, calling.dead("default").count(key: "b")
    # Put back it merges with what waits, as if new and due now.
    serving.stop
    calling.enqueue(TASK, "more", key: "a", score: 0, delay_ms: 900_000)
    assert_equal 1, calling.dead("default").retry(args: { b: 1.0, a: 2 }, key: "a")
    assert_equal({ "\"more\"" => 0.0, "{\"a\":2,\"b\":1}" => 1.0 }, waiting("a"))
    assert_equal [0, nil], [tries("a"), due_ms("a")]
  end

  def test_a_final_failure_gives_up_one_payload_of_each_key
    task = noting(batch: 5) { |_, _, run| raise Pshub::TaskError.new("no", retryable: false) if run == 1 }
    calling = declared(task)
    %w[a b].product([1, 2]).each { |key, n| calling.enqueue(TASK, n, key: key, score: n) }
    worker(task)
    assert_equal [["a", [2]], ["b", [2]]], seen(2).last
    assert_equal [["a", 1], ["b", 1]], calling.dead("default").list.map { |job| [job.key, job.args] }.sort
  end

  def test_runs_have_so_many_keys_and_payloads_as_the_task_says
    task = noting(batch: 3, max_payloads: 4)
    calling = declared(task)
    calling.enqueue_many(Array.new(40) { |n| [TASK, n, { key: "abcd"[n % 4], score: n }] })
    worker(task)
    eventually("all") { @runs.sum { |run| run.keys.sum { |_, payloads| payloads.size } } == 40 }
    assert_operator @runs.map { |run| run.keys.size }.max, :<=, 3
    assert_equal 4, @runs.flat_map { |run| run.keys.map { |_, payloads| payloads.size } }.max
    own = @runs.flat_map(&:keys).group_by(&:first).transform_values { |found| found.flat_map(&:last) }
    assert_equal "abcd".chars.each_with_index.to_h { |key, at| [key, Array.new(10) { |n| (n * 4) + at }] }, own
  end

  def test_a_worker_that_is_killed_loses_none_of_them
    process = worker_process
    calling = hub
    calling.enqueue_many(%w[a b].product([1, 2]).map { |key, n| [TASK, n, { key: key, score: n, delay_ms: 300 }] })
    eventually("its death") { process.gone? }
    assert_equal 1, server.held_count
    run = JSON.parse(server.client.hvals(server.held.first).first)
    assert_equal [["a", 0], ["b", 0]], run["job"]["run"].map { |each| each.first(2) }
    calling.enqueue(TASK, 1, key: "a", score: 9)
    told = told_by(worker(noting(batch: 5)), "worker:lost")
    # One with which a worker was lost runs alone.
    assert_equal [[["a", [2, 1]]], [["b", [1, 2]]]], seen(2).sort
    assert_equal [1, 1], @runs.map(&:attempt)
    taken(told, 1)
    eventually("the end") { server.held.empty? && server.client.hlen(QUEUE.tried(TASK)).zero? }
  end

  def test_a_worker_that_leaves_gives_its_run_back
    task = noting { |_, ctx, run| ctx.wait(30) if run == 1 }
    leaving = worker(task)
    hub.enqueue(TASK, 1, key: "a", score: 1)
    seen(1)
    leaving.stop(grace: 0)
    assert_equal [{ "1" => 1.0 }, 0], [waiting("a"), tries("a")]
    worker(task)
    assert_equal [[["a", [1]]]] * 2, seen(2)
  end
end
