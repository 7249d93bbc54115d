# frozen_string_literal: true

require "set"
require_relative "../hub/arguments"
require_relative "../outlets/task_log"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/stop"
require_relative "../wire/streams"
require_relative "../wire/times"

module Pshub
  # The context of a call: the second argument of the block of a task.
  class Context
    # Why it was cancelled: a HubError, or nil.
    attr_reader :reason
    # Its end was told: what a handler says that was given up concerns nobody any more.
    attr_accessor :over

    # +nested+ are the worker's NestedCalls; +hearing+ is told how far it is.
    def initialize(request, finish, nested, hearing)
      @hearing = hearing
      @request = request
      @finish = finish
      @nested = nested
      @lock = Mutex.new
      @told = Stop.new
      @calls = Set.new
    end

    # The request id.
    def id = @request.id
    # name:version
    def task = @request.task

    # Number of this try of a job, from 1; for merged jobs that of the key that failed most. Always 1 for a call.
    def attempt
      part = @request.job || {}
      [part.fetch("tries", 0), *part.fetch("run", []).map(&:tries)].max + 1
    end

    # Fencing token for a job with a key: higher than that of all earlier runs with the same key; else nil. Let your storage reject writes
    # with a lower token, to be safe from a worker that has lost its lease.
    def fence = @request.job&.fetch("fence", nil)
    # Name of the calling service.
    def caller_name = @request.from
    # W3C trace context of the call.
    def traceparent = @request.traceparent
    def tracestate = @request.tracestate
    # Seconds until the deadline.
    def remaining = [0.0, @finish - Clock.now].max
    # Whether nobody needs the result any more: the deadline has passed, the caller cancelled, or the worker stops.
    def cancelled? = @told.set?
    # Waits this many seconds, or until it is cancelled; true if it is. Use it instead of sleep.
    def wait(seconds) = @told.wait(seconds)
    # A log whose lines have the task and the request id.
    def log = TaskLog.new(task, id)

    # Reports progress to a caller with +on_progress+, and in the status of a job. The last report is sent about four times a second.
    # +message+ is for people. Raises ConfigError for invalid progress.
    def progress(done, total = nil, message = nil)
      @hearing.call.tell(@request, self, Streams.check_progress(done, total, message))
      nil
    end

    # Calls another task with the remaining time of this call, in the same trace. Raises a HubError.
    def call(task, args = {}, timeout: nil, queue: nil, **unknown)
      called = Arguments.name_of(task)
      timeout = Times.seconds(timeout)
      wrong = Arguments.wrong(called, timeout, queue, nil, unknown)
      raise @nested.refused(called, wrong) if wrong
      raise Aborted.new("The call of #{self.task} had ended before #{called} was called.", task: called) if cancelled?

      left = [timeout, remaining].compact.min
      raise @nested.refused(called, Arguments.expired(called)) unless left.positive?

      pending = @nested.call(called, args, left, [traceparent, tracestate], queue)
      begin
        watch(pending)
        pending.result
      ensure
        @lock.synchronize { @calls.delete(pending) }
      end
    end

    # Tells the handler to stop, and its nested calls with it. The first reason counts.
    def abort(reason)
      calls = @lock.synchronize do
        return if @reason

        @reason = reason
        @calls.to_a
      end
      @told.set
      calls.each(&:cancel)
    end

    private

    def watch(pending)
      over = @lock.synchronize do
        @calls << pending
        !@reason.nil?
      end
      pending.cancel if over
    end
  end
end
