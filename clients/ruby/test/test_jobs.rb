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

  # Fails as often as it is told, and notes each try.
  def flaky(backoff: 1, **options)
    declare("flaky:1.0", backoff: backoff, **options) do |args, ctx|
      @tries << [args, ctx.attempt, Pshub::Clock.now]
      raise "try #{ctx.attempt} {failed} [here]" if args.is_a?(Hash) && ctx.attempt <= args.fetch("fails", 0)

      { attempt: ctx.attempt }
    end
  end

  def tried = Array.new(@tries.size) { @tries.pop }
  def events_of(serving, name) = [].tap { |told| serving.events.on(name) { |event| told << event } }

  def test_a_job_is_run_once_and_leaves_nothing_behind
    serving = worker(flaky)
    calling = hub(name: "shop")
    job = calling.enqueue("flaky:1.0", { n: 1 })
    assert_equal ["default", "flaky:1.0", false], [job.queue, job.task, job.twin?]
    args, attempt, = @tries.pop
    assert_equal [{ "n" => 1 }, 1], [args, attempt]
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
    assert_match(/is that of a forwarder: give forward in its place, "billing"/, wrong.call(queue: "forward.billing"))
    assert_match(/forward must be the name of a forwarder/, wrong.call(forward: "a b"))
    assert_match(/score is for merged jobs/, wrong.call(forward: "billing", score: 1))
  end

  def test_it_waits_for_a_worker_that_comes_later_in_the_queue_that_is_named
    calling = hub
    assert_match(/Name its queue/, assert_raises(Pshub::NoSuchTask) { calling.enqueue("flaky:1.0") }.message)
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
      { delay: 5 } => /there is no option 'delay'\. Known are queue, forward, delay_ms/, { delay_ms: -1 } => /delay_ms must be milliseconds/,
      { delay_ms: 1, at: 5 } => /not both/, { at: "tomorrow" } => /at must be a Time/,
      { retries: 1.5 } => /retries must be a whole number/, { backoff: "never" } => /backoff must be 'exponential'/,
      { backoff: [] } => /backoff must be/, { priority: 9 } => /priority must be 'high'/, { unique: 7 } => /unique id must be a text/,
      { unique: { until: "noon" } } => /unique\.until must be/, { unique: { ttl: 1 } } => /there is no option 'unique\.ttl'/,
      { queue: "no queue" } => /queue must be the name of a queue/, { timeout_ms: 0 } => /timeout_ms must be/
    }.each do |options, message|
      error = assert_raises(Pshub::InvalidArgs, options.inspect) { calling.enqueue("strict:1.0", { n: 1 }, **options) }
      assert_match message, error.message
    end
    assert_equal 0, server.client.llen(JOBS)
    assert_raises(Pshub::HubClosed) { calling.tap(&:close).enqueue("strict:1.0", { n: 1 }) }
  end

  def test_what_is_due_later_wakes_a_worker_that_sleeps
    worker(flaky)
    calling = hub
    job = calling.enqueue("flaky:1.0", {}, delay_ms: 300, keep_result_ms: 60_000)
    assert_equal "scheduled", job.status.state
    job.result
    @tries.pop
    at = Time.now + 0.05
    calling.enqueue("flaky:1.0", {}, at: at)
    @tries.pop
    assert_operator Time.now, :>=, at
  end

  def test_what_nobody_wants_any_more_is_counted_and_not_run
    calling = hub
    job = calling.enqueue("flaky:1.0", {}, queue: "default", expires_ms: 1, tracked: true)
    later = calling.enqueue("flaky:1.0", {}, queue: "default", expires_ms: 60_000, delay_ms: 20, tracked: true)
    foreign = calling.enqueue("foreign:1.0", {}, queue: "default", expires_ms: 1, tracked: true)
    delay 0.01, "they are wanted for 1 ms"
    serving = worker(flaky)
    expired = events_of(serving, "request:expired")
    [job, foreign].each { |each| assert_raises(Pshub::Expired) { each.result } }
    assert_equal %w[expired expired], [job, foreign].map { |each| each.status.state }
    later.result
    assert_equal 1, @tries.size
    assert_equal [foreign.id, job.id].sort, expired.map { |event| event[:id] }.sort
    eventually { serving.busy.zero? }
  end

  def test_a_failed_one_is_tried_again_after_its_delays_until_it_succeeds
    serving = worker(flaky(backoff: [30, 60]))
    retried = events_of(serving, "job:retried")
    job = hub.enqueue("flaky:1.0", { fails: 3 }, tracked: true)
    assert_equal({ "attempt" => 4 }, job.result)
    tries = tried
    assert_equal([1, 2, 3, 4], tries.map { |_, attempt| attempt })
    assert_equal([[1, 30, "TaskFailed"], [2, 60, "TaskFailed"], [3, 60, "TaskFailed"]],
                 retried.map { |event| event.values_at(:attempt, :delay_ms, :code) })
    assert_operator tries[1].last - tries[0].last, :>=, 0.028
    status = job.status
    assert_equal ["done", 3, "try 3 {failed} [here]"], [status.state, status.tries, status.error["message"]]
    assert_equal status.error["at"], status.error["at"].clamp(status.enqueued_ms, status.ended_ms)
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
