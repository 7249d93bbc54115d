# frozen_string_literal: true

require_relative "../wire/errors"

module Pshub
  # What all calls of a hub may spend on retries, so that they add a tenth to the load at most: a bucket that calls fill.
  class RetryBudget
    MOST = 10.0
    # Tries of one call, the first included.
    MAX_TRIES = 3

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
