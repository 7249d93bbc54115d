# frozen_string_literal: true

require_relative "../task/task"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "arguments"
require_relative "call"
require_relative "gather"

module Pshub
  # A call that is under way; what Hub#submit returns.
  class PendingCall
    LOOK_AGAIN_S = 0.1

    attr_reader :called, :queue, :timeout_s, :trace, :started_at, :finish, :route, :args_json
    # The present try; nil while the name is looked up.
    attr_accessor :attempt
    # Who hears what comes of it before its reply, a Stream or a ProgressListener; nil where nobody wants that. +chunks+: how many its
    # worker pushed.
    attr_accessor :listener, :chunks

    # One that ended before it began.
    def self.failed(error) = new(nil, nil, nil, nil, nil).tap { |call| call.settle(nil, error) }

    # +queue+: the only one whose workers count, or nil.
    def initialize(dispatch, called, args, timeout_s, trace, queue = nil)
      @dispatch = dispatch
      @called = called
      @args = args
      @timeout_s = timeout_s
      @trace = trace
      @queue = queue
      @started_at = Clock.now
      @lock = Mutex.new
      @settled = Clock.condition
    end

    # Where it goes is known. Raises InvalidArgs or PayloadTooLarge.
    def routed(route, max_payload_bytes)
      raise Errors.keyed(route.task) if route.keyed

      @args_json = Arguments.encode(route, @args, [max_payload_bytes, route.max_payload_bytes].min)
      @args = nil
      @finish = @started_at + [@timeout_s || route.timeout_s, Task::MAX_TIMEOUT_S].min
      @route = route
    end

    # How long it waits to be told where its task runs, while Redis is away.
    def patience_end = @patience_end ||= @started_at + [timeout_s_or_default, Attempt::UNSENT_S].min

    # Nothing says that Redis is away: it, or this process, is slow. Whether there is time left to wait on.
    def wait_on?
      now = Clock.now
      latest = @started_at + timeout_s_or_default
      @patience_end = [now + LOOK_AGAIN_S, latest].min
      now < latest
    end

    # The first outcome counts.
    def settle(value, error)
      @lock.synchronize do
        return if @ended_at

        @value = value
        @error = error
        @ended_at = Clock.now
        @settled.broadcast
      end
      @listener&.settled(value, error, @chunks)
    end

    def done? = !@ended_at.nil?

    # Gives up: a waiting request is taken out of the list, a running handler is told. +result+ raises Aborted.
    def cancel = @dispatch&.cancel(self)

    # Waits for the result. Raises a HubError by the call's deadline at the latest.
    def result
      wait
      raise @error if @error

      @value
    end

    # The same without raising.
    def outcome
      wait
      Outcome.new(ok: @error.nil?, value: @value, error: @error, ms: ((@ended_at - @started_at) * 1000).round(3))
    end

    private

    def timeout_s_or_default = @timeout_s || Task::DEFAULT_TIMEOUT_S

    def wait
      until done?
        look = @dispatch.next_look(self)
        @lock.synchronize do
          left = look - Clock.now
          @settled.wait(@lock, left) if !@ended_at && left.positive?
        end
        @dispatch.expire(self) if !done? && Clock.now >= look
      end
    ensure
      # The thread that waits was ended: nobody waits any more.
      cancel unless done?
    end
  end
end
