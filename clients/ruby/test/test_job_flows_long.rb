# frozen_string_literal: true

require_relative "helper"

# A job whose end nobody told of.
class TestJobFlowsLong < PshubTest
  def record(job) = "pshub:{#{job.queue}}:job:#{job.id}"

  def test_who_waits_finds_it_by_looking_again_where_its_worker_died_before_it_told
    job = hub.enqueue("never:1.0", {}, queue: "default", keep_result_ms: 60_000)
    waiting = Thread.new { job.result }
    eventually("the wait") { server.client.hkeys(record(job)).any? { |field| field.start_with?("wait:") } }
    server.client.hset(record(job), "state", "done", "ended", 1, "result", '"late"')
    assert_equal "late", waiting.value
  end
end
