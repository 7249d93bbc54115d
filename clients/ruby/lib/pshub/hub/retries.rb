# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "call"

module Pshub
  # What all calls of a hub may spend on retries, so that they add a tenth to the load at most: a bucket that calls fill.
  class RetryBudget
    MOST = 10.0
    # Tries of one call, the first included.
    MAX_TRIES = 3
    FIRST_S = 0.01
    MOST_S = 0.2

    def initialize
      @lock = Mutex.new
      @tokens = MOST
    end

    # Whether a failed call may be sent again without harm. Not after WorkerLost: an idempotent call whose worker died was run
    # elsewhere already. Not when the deadline has passed or the queue is overloaded: more load would not help.
    def self.allows?(error, idempotent)
      return true if error.is_a?(NotEnqueued)

      idempotent && (error.is_a?(OutcomeUnknown) || (error.is_a?(TaskFailed) && error.retryable))
    end

    # How long a failed attempt waits for a further try, in seconds; nil where there is none.
    def wait_for(attempt, error)
      call = attempt.call
      return if attempt.tries + 1 >= MAX_TRIES || !RetryBudget.allows?(error, call.route.idempotent)

      wait_s = Clock.backoff(attempt.tries, FIRST_S, MOST_S)
      # A Redis that cannot be reached is tried for a second all along; its calls fail then.
      last = error.is_a?(NotEnqueued) ? [call.finish, call.started_at + Attempt::UNSENT_S].min : call.finish
      wait_s if Clock.now + wait_s < last && take
    end

    def on_call
      @lock.synchronize { @tokens = [MOST, @tokens + 0.1].min }
    end

    def take
      @lock.synchronize do
        return false if @tokens < 1

        @tokens -= 1
        true
      end
    end
  end
end
