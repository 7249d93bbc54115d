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
  # What a handler is told about its call; its block's second argument.
  class Context
    # Why it was told to stop, once it was: a HubError.
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

    # The request's id.
    def id = @request.id
    # name:version
    def task = @request.task

    # Which try this is, of a job: 1 for the first one; of a run of merged jobs that of the key which failed most. Of a call always 1.
    def attempt
      part = @request.job || {}
      [part.fetch("tries", 0), *part.fetch("run", []).map(&:tries)].max + 1
    end

    # Of a job with a key, and of a run of merged jobs: higher than that of all runs before it which had the same key; else nil. Storage
    # that refuses what comes with a lower one than it saw last is safe from a worker that was taken for dead.
    def fence = @request.job&.fetch("fence", nil)
    # The calling service, as it named itself.
    def caller_name = @request.from
    # W3C trace context of the call.
    def traceparent = @request.traceparent
    def tracestate = @request.tracestate
    # Seconds until the deadline.
    def remaining = [0.0, @finish - Clock.now].max
    # Whether nobody needs the result any more: time is up, the caller gave up, or the worker leaves.
    def cancelled? = @told.set?
    # Waits so many seconds, or until it is told to stop; true when it is. Use it instead of sleep.
    def wait(seconds) = @told.wait(seconds)
    # A log whose lines carry the task and the request's id.
    def log = TaskLog.new(task, id)

    # Says how far it is: to a caller that gave +on_progress+, and of a job to whoever looks at its status. Some four times a second the last
    # one is told. +message+ is what it is at, for people. Raises ConfigError for what is none.
    def progress(done, total = nil, message = nil)
      @hearing.call.tell(@request, self, Streams.check_progress(done, total, message))
      nil
    end

    # Calls another task with what remains of this call's time, under the same trace. Raises a HubError.
    def call(task, args = {}, timeout: nil, queue: nil)
      called = Arguments.name_of(task)
      timeout = Times.seconds(timeout)
      wrong = Arguments.wrong(called, timeout, queue)
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
