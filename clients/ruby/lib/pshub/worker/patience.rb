# frozen_string_literal: true

require_relative "../redis/connection"
require_relative "../redis/failures"
require_relative "../wire/clock"
require_relative "../wire/stop"

module Pshub
  # What must be done in Redis in the end: it is tried again, and longer is waited each time, until there is a connection.
  class Patience
    FIRST_S = 0.02
    MOST_S = 1.0

    # The block is told of what Redis refuses for good, and of what is wrong here.
    def initialize(connection, &on_problem)
      @connection = connection
      @on_problem = on_problem
      @stopping = Stop.new
    end

    def over? = @stopping.set?

    # Ends all tries; what was not done stays as it is.
    def stop = @stopping.set

    # How long to wait after so many tries in a row, counted from 0.
    def self.pause(tries) = Clock.backoff(tries, FIRST_S, MOST_S)

    # Tries what the block does until that is done, or +own+ says that it is no matter of this worker any more, or this ends. Returns
    # whether it was done.
    def until_done(own, &work)
      tries = 0
      until over? || !own.call
        return true if done?(&work)

        @stopping.wait(Patience.pause(tries))
        tries += 1
        @connection.wait_ready(@stopping)
      end
      false
    end

    # One try. False for what is to be tried again, whatever refused it.
    def done?
      yield
      true
    rescue *Connection::PROBLEMS => e
      @on_problem.call(e) if e.is_a?(ReplyError) && !e.passing? && !e.full?
      false
    rescue StandardError => e
      # Also one of this package: it must not end the thread that tries.
      @on_problem.call(e)
      false
    end

    # Returns after so many seconds, or when this ends.
    def wait(seconds) = @stopping.wait(seconds)
    def wait_ready = @connection.wait_ready(@stopping)
  end
end
