# frozen_string_literal: true

require_relative "../redis/connection"
require_relative "../redis/failures"
require_relative "../wire/clock"
require_relative "queue"

module Pshub
  # Sends a batch under its number until its outcome is known: when an answer is lost the same is sent again, and Redis knows by the
  # number whether it had arrived.
  module Numbered
    FIRST_S = 0.01
    MOST_S = 0.5

    # +prepare+:: is given whether a try was lost, and returns what sends the batch now, or nil when nobody waits for it any more. Once a
    #             try was lost it must be the same batch
    # +on_setback+:: is told why a try failed, and whether one of them may have arrived
    #
    # Returns [:answer, what was answered]; [:refused, ReplyError]: none of the batch is there; [:unknown]: an answer was lost, and
    # Redis cannot tell any more whether the batch had arrived; or [:over]: nobody waits any more, or +closing+ is set.
    def self.deliver(connection, closing, prepare:, on_setback:)
      first_try = Clock.now
      lost = false
      tries = 0
      loop do
        send_now = prepare.call(lost)
        return [:over] if send_now.nil? || closing.set?
        # The number may be forgotten soon; repeating it after that could do it twice.
        return [:unknown] if lost && Clock.now - first_try > TaskQueue::PUSH_MEMORY_MS / 2000.0

        begin
          return [:answer, send_now.call]
        rescue *Connection::PROBLEMS => e
          lost ||= e.is_a?(ConnectionLost)
          on_setback.call(e, lost)
          return lost ? [:unknown] : [:refused, e] if e.is_a?(ReplyError) && !e.passing?
        end
        closing.wait(Clock.backoff(tries, FIRST_S, MOST_S))
        tries += 1
        connection.wait_ready(closing)
      end
    end
  end
end
