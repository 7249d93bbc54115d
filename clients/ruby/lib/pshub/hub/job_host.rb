# frozen_string_literal: true

require_relative "../queue/job_queue"
require_relative "../wire/clock"

module Pshub
  # One who waits for an answer that is no call's: that of a job.
  class Ear
    attr_reader :reply

    def initialize
      @lock = Mutex.new
      @changed = Clock.condition
    end

    def hear(reply)
      @lock.synchronize do
        @reply ||= reply
        @changed.broadcast
      end
    end

    # The hub is closed; nobody answers any more.
    def close
      @lock.synchronize do
        @closed = true
        @changed.broadcast
      end
    end

    def closed? = @closed

    # The reply, or nil after so many seconds.
    def wait(seconds)
      finish = Clock.now + seconds
      @lock.synchronize do
        until @reply || @closed || (left = finish - Clock.now) <= 0
          @changed.wait(@lock, left)
        end
        @reply
      end
    end
  end

  # All of them, by what their answers are marked with.
  class Ears
    def initialize
      @lock = Mutex.new
      @ears = {}
      @used = false
    end

    # True when replies may have come, so that there is something in Redis to clean up.
    def used? = @used
    def size = @ears.size

    def add(ticket)
      @lock.synchronize do
        @used = true
        @ears[ticket] = Ear.new
      end
    end

    def delete(ticket) = @lock.synchronize { @ears.delete(ticket) }

    # False when nobody waits for it.
    def hear(reply)
      ear = @lock.synchronize { @ears[reply["id"]] }
      ear&.hear(reply)
      !ear.nil?
    end

    def close = @lock.synchronize { @ears.values }.each(&:close)
  end

  # What jobs need of their hub. The block gives the present Dispatch, another one in a forked child.
  class JobHost
    attr_reader :keys

    def initialize(keys, &dispatch)
      @keys = keys
      @dispatch = dispatch
    end

    def hub_id = @dispatch.call.id
    def queue_of(name) = JobQueue.new(name, @keys)

    # Yields a connection. Raises NotEnqueued when Redis is away or refuses, HubClosed.
    def ask(&block) = @dispatch.call.jobs.ask("Redis could not be queried about the job", &block)

    # Changes something. Raises OutcomeUnknown where it may have been done, NotEnqueued, HubClosed.
    def change(&block) = @dispatch.call.jobs.ask("The command could not be run", change: true, &block)

    # Yields an Ear that hears the reply of that ticket meanwhile.
    def hear(ticket)
      dispatch = @dispatch.call
      begin
        yield dispatch.listen(ticket)
      ensure
        dispatch.jobs.ears.delete(ticket)
      end
    end
  end
end
