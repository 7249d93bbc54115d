# frozen_string_literal: true

require_relative "../hub/hub"

module Pshub
  # A hub whose #enqueue returns when the job has run once, and raises what its block raised. What is to run later, or in a queue that the worker of
  # the test does not serve, is only enqueued.
  class InlineHub < Hub
    # So long, in real time, one job may take.
    TIMEOUT_S = 5.0

    # By what it knows of jobs and runs; +worker+ is a TestWorker.
    def run_inline(runs, record, clock, worker)
      @runs, @record, @clock, @worker = runs, record, clock, worker
    end

    def enqueue(task, args = {}, **options)
      job = super
      enqueued = @record.by_id(job.id) unless job.twin?
      return job if enqueued.nil? || enqueued.queue != @worker.queue || enqueued.due_ms > @clock.now_ms

      ended = @runs.end_of(job.id, TIMEOUT_S) or
        raise "The job #{job.id} of #{job.task} did not end within #{TIMEOUT_S} s. Does it wait for another job of its key, " \
              "or for this one, or do more jobs wait for each other than the worker has slots?"
      # Until that is known in Redis, too: status and result tell of it.
      @clock.quiet(patient: false)
      ended.raised ? raise(ended.raised) : job
    end
  end
end
