# frozen_string_literal: true

require_relative "../wire/errors"

module Pshub
  # What the outboxes of a Dispatch tell it of its attempts.
  module OutboxNews
    def doubt(attempts)
      @lock.synchronize { attempts.each { |attempt| attempt.in_doubt = true } }
    end

    def undoubt(attempts, setback, lost)
      @lock.synchronize do
        attempts.each do |attempt|
          attempt.in_doubt = lost
          attempt.setback = setback
        end
      end
    end

    def enqueued(attempt, pushed)
      @lock.synchronize do
        attempt.in_doubt = false
        attempt.pushed = pushed
      end
    end

    def refuse(attempt, code, message, data = nil)
      @lock.synchronize do
        attempt.in_doubt = false
        finish(attempt, nil, Errors.make(code, message, task: attempt.task, id: attempt.id, data: data))
      end
    end
  end
end
