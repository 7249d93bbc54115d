# frozen_string_literal: true

require_relative "../wire/errors"

module Pshub
  # A job as it was enqueued; +due_ms+: when it is to begin at the earliest, milliseconds since 1970 on the clock of the hub.
  EnqueuedJob = Struct.new(:id, :task, :args, :queue, :due_ms, :key, keyword_init: true)

  # What InlineHub#enqueue returns.
  class InlineJob
    # What is known of a job. +part+: what it carries as one; +text+: as it would lie in its list.
    Record = Struct.new(:enqueued, :part, :text, :due_ms, :ends_ms, :state, :tries, :error, :result) do
      def over? = %w[done dead expired].include?(state)
    end

    def initialize(record, twin)
      @record = record
      @twin = twin
    end

    def id = @record.enqueued.id
    def task = @record.enqueued.task
    def queue = @record.enqueued.queue
    # It was there already, when the same was enqueued as +unique+.
    def twin? = @twin
    # waiting, also for its time, retrying, done, dead or expired
    def state = @record.state
    # How often it has failed so far.
    def tries = @record.tries
    # How it failed last.
    def error = @record.error

    # Of a job that is done; nothing is waited for. Raises how it failed, of one that is dead, and Timeout of one that has not ended.
    def result(timeout_ms: nil) # rubocop:disable Lint/UnusedMethodArgument
      return @record.result if state == "done"
      raise error if state == "dead"

      raise Timeout.new("The job of #{task} is #{state}; drain runs what is due.", task: task, id: id)
    end
  end
end
