# frozen_string_literal: true

require_relative "helper"

# Hub#enqueue and what a job tells of itself.
class TestJobs < PshubTest
  JOBS = "pshub:{default}:jobs"
  STRICT = { type: "object", required: ["n"] }.freeze

  def setup
    super
    @tries = Thread::Queue.new
  end

  # Notes each try.
  def flaky = declare("flaky:1.0") { |args, ctx| (@tries << [args, ctx.attempt]) && { attempt: ctx.attempt } }

  def test_a_job_is_run_once_and_leaves_nothing_behind
    serving = worker(flaky)
    calling = hub(name: "shop")
    job = calling.enqueue("flaky:1.0", { n: 1 })
    assert_equal ["default", "flaky:1.0", false], [job.queue, job.task, job.twin?]
    assert_equal [{ "n" => 1 }, 1], @tries.pop
    error = assert_raises(Pshub::NoSuchJob) { job.status }
    assert_equal [job.id, "maybe"], [error.id, error.ran]
    eventually("the release") { server.held.empty? }
    calling.close
    serving.stop
    assert_empty server.leftovers
    assert_empty server.client.keys("pshub:reply:*") + server.client.keys("*:enqueued:*")
  end

  def test_it_leaves_the_hub_where_a_forwarder_is_named
    calling = hub
    job = calling.enqueue("order.paid", { n: 1 }, forward: "billing", key: "order-17", keep_result_ms: 60_000)
    assert_equal ["forward.billing", "order.paid", "waiting"], [job.queue, job.task, job.status.state]
    line = "pshub:{forward.billing}:line:order.paid:order-17"
    told = JSON.parse(server.client.lindex(line, 0))
    assert_equal [job.id, "order.paid", { "n" => 1 }, "order-17"], [*told.values_at("id", "task", "args"), told["job"]["key"]]
    status = calling.key("order.paid", "order-17", queue: "forward.billing").status
    assert_equal 1, status.waiting
    many = calling.enqueue_many([["a"], ["b", {}, { forward: "other" }], ["c:1.0", {}, { queue: "q" }]], forward: "billing")
    assert_equal 3, many.ids.size
    lists = %w[forward.billing forward.other q].map { |queue| server.client.llen("pshub:{#{queue}}:jobs") }
    assert_equal [1, 1, 1], lists
    wrong = ->(**options) { assert_raises(Pshub::InvalidArgs) { calling.enqueue("a", {}, **options) }.message }
    assert_match(/give queue or forward, not both/, wrong.call(forward: "billing", queue: "q"))
    assert_match(/belongs to a forwarder: use forward instead, "billing"/, wrong.call(queue: "forward.billing"))
    assert_match(/forward must be the name of a forwarder/, wrong.call(forward: "a b"))
    assert_match(/score is for merged jobs/, wrong.call(forward: "billing", score: 1))
  end

  def test_it_waits_for_a_worker_that_comes_later_in_the_queue_that_is_named
    calling = hub
    assert_match(/pass the queue/, assert_raises(Pshub::NoSuchTask) { calling.enqueue("flaky:1.0") }.message)
    assert_match(/flaky:1\.0/, assert_raises(Pshub::NoSuchTask) { calling.enqueue("flaky", {}, queue: "default") }.message)
    job = calling.enqueue("flaky:1.0", {}, queue: "default", keep_result_ms: 60_000)
    assert_equal ["waiting", "flaky:1.0", 0, nil], job.status.to_h.values_at(:state, :task, :tries, :ended_ms)
    # No card tells of its queue: workers of all queues, and who looks for a job, find it there.
    assert_equal ["default"], server.client.zrange("pshub:queues", 0, -1)
    assert_equal "default", hub.job(job.id).queue
    serving = worker(flaky)
    assert_equal({ "attempt" => 1 }, job.result)
    status = job.status
    assert_equal ["done", serving.id], [status.state, status.worker]
    assert_operator status.ended_ms, :>=, status.started_ms
    # And when its workers have left, its card says where it goes.
    serving.stop
    assert_equal "default", hub.enqueue("flaky:1", { n: 2 }).queue
    assert_equal 1, server.client.llen(JOBS)
  end

  def test_wrong_ones_are_refused_before_anything_is_sent
    worker(declare("strict:1.0", args: STRICT) { 1 })
    calling = hub
    assert_raises(Pshub::InvalidArgs) { calling.enqueue("strict:1.0", {}) }
    assert_raises(Pshub::NoSuchTask) { calling.enqueue(nil) }
    {
      { delay: 5 } => /there is no option 'delay'\. Known: queue, forward, delay_ms/, { delay_ms: -1 } => /delay_ms must be milliseconds/,
      { delay_ms: 1, at: 5 } => /not both/, { at: "tomorrow" } => /at must be a Time/,
      { retries: 1.5 } => /retries must be a whole number/, { backoff: "never" } => /backoff must be 'exponential'/,
      { backoff: [] } => /backoff must be/, { priority: 9 } => /priority must be 'high'/, { unique: 7 } => /unique id must be a string/,
      { unique: { until: "noon" } } => /unique\.until must be/, { unique: { ttl: 1 } } => /there is no option 'unique\.ttl'/,
      { queue: "no queue" } => /queue must be the name of a queue/, { timeout_ms: 0 } => /timeout_ms must be/
    }.each do |options, message|
      error = assert_raises(Pshub::InvalidArgs, options.inspect) { calling.enqueue("strict:1.0", { n: 1 }, **options) }
      assert_match message, error.message
    end
    assert_equal 0, server.client.llen(JOBS)
    assert_raises(Pshub::HubClosed) { calling.tap(&:close).enqueue("strict:1.0", { n: 1 }) }
  end

  def test_a_handler_says_whether_it_would_fail_again
    { { retryable: false } => 1, { retryable: true } => 3, {} => 3 }.each do |options, expected|
      count = 0
      serving = worker(declare("final:1.0", retries: 2, backoff: 1) { (count += 1) && raise(Pshub::TaskError.new("no", **options)) })
      job = hub.enqueue("final:1.0", {}, tracked: true)
      assert_raises(Pshub::TaskFailed) { job.result }
      assert_equal expected, count, options.inspect
      serving.stop
    end
  end

  def test_a_job_runs_for_as_long_as_its_task_says_for_jobs
    worker(declare("short:1.0", job_timeout_ms: 150, retries: 0) { |_, ctx| ctx.wait(10) && ctx.remaining },
           declare("long:1.0", timeout: 0.1) { |_, ctx| ctx.wait(0.4) ? "told" : "done" })
    calling = hub
    long = calling.enqueue("long:1.0", {}, tracked: true)
    assert_equal 0.0, calling.enqueue("short:1.0", {}, tracked: true).result
    assert_equal "done", long.result
  end

  def test_a_full_house_of_jobs_leaves_slots_to_calls_and_is_refilled
    going_on = Pshub::Stop.new
    serving = worker(adder, declare("stay:1.0") { going_on.wait && nil }, slots: 4)
    calling = hub
    jobs = Array.new(10) { calling.enqueue("stay:1.0", {}, tracked: true) }
    eventually("as many as may run") { serving.busy == 2 }
    assert_equal 3, calling.call("add:1.0", { x: 1 })
    # The call's release comes after its reply.
    eventually("jobs alone") { server.held_count == 2 && serving.busy == 2 }
    going_on.set
    jobs.each(&:result)
  end
end
