# frozen_string_literal: true

require_relative "helper"

# Jobs whose workers are killed, and ends that nobody told of.
class TestJobFlowsLong < PshubTest
  def record(job) = "pshub:{#{job.queue}}:job:#{job.id}"

  def test_a_job_of_a_killed_worker_is_run_by_another_one
    process = worker_process("--lease", "2")
    job = hub.enqueue("again:1.0", { until: gate.path }, tracked: true)
    eventually("the start") { server.client.hget(record(job), "state") == "running" }
    process.signal("KILL")
    worker(declare("again:1.0") { "another" }, lease: 2)
    assert_equal "another", job.result
    assert_equal ["done", 0], [job.status.state, job.status.tries]
    eventually("the release") { server.held.empty? }
  end

  def test_who_waits_finds_it_by_looking_again_where_its_worker_died_before_it_told
    job = hub.enqueue("never:1.0", {}, queue: "default", keep_result_ms: 60_000)
    waiting = Thread.new { job.result }
    eventually("the wait") { server.client.hkeys(record(job)).any? { |field| field.start_with?("wait:") } }
    server.client.hset(record(job), "state", "done", "ended", 1, "result", '"late"')
    assert_equal "late", waiting.value
  end
end
