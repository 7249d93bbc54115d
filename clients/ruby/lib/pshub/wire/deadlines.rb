# frozen_string_literal: true

require_relative "clock"

module Pshub
  # Ends many things in time with one thread: it sleeps until the earliest deadline it knew of and looks at all entries then.
  # Since most are deleted long before, adding costs nothing. An entry has +deadline+ (as of Clock.now) and +expire+.
  class Deadlines
    PAUSE_S = 0.005

    def initialize
      @lock = Mutex.new
      @changed = Clock.condition
      @entries = {}.compare_by_identity
      @next_look = Float::INFINITY
      @stopped = false
    end

    def start = @thread = Thread.new { watch }
    def ended? = @thread&.alive? == false

    def add(entry)
      @lock.synchronize do
        @entries[entry] = true
        @changed.signal if entry.deadline < @next_look
      end
    end

    def delete(entry)
      @lock.synchronize { @entries.delete(entry) }
    end

    def stop
      @lock.synchronize do
        @stopped = true
        @changed.signal
      end
      @thread&.join unless @thread == Thread.current
    end

    private

    def watch
      due.each(&:expire) until @stopped
    end

    # Waits until something is due. What expires may add itself again, with a later deadline.
    def due
      @lock.synchronize do
        until @stopped
          now = Clock.now
          over = @entries.keys.select { |entry| entry.deadline <= now }
          return over.each { |entry| @entries.delete(entry) } unless over.empty?

          earliest = @entries.keys.map(&:deadline).min
          @next_look = earliest || Float::INFINITY
          @changed.wait(@lock, earliest && [earliest - now, PAUSE_S].max)
        end
        []
      end
    end
  end
end
