# frozen_string_literal: true

require_relative "../wire/clock"

module Pshub
  # What threads of hubs and workers wait by while a test has the clock: those whose time has come when it was moved on are woken.
  class Waits
    Waiting = Struct.new(:due, :lock, :condition)

    # In the place of a ConditionVariable.
    class Condition
      def initialize(waits)
        @waits = waits
        @inner = ConditionVariable.new
      end

      def wait(lock, seconds = nil)
        return @inner.wait(lock) if seconds.nil?

        @waits.during(Waiting.new(Clock.now + seconds, lock, @inner)) { @inner.wait(lock, seconds) }
      end

      def signal = @inner.signal
      def broadcast = @inner.broadcast
    end

    def initialize
      @lock = Mutex.new
      @waiting = {}.compare_by_identity
    end

    # As ConditionVariable.new.
    def new = Condition.new(self)

    def during(waiting)
      @lock.synchronize { @waiting[waiting] = true }
      yield
    ensure
      @lock.synchronize { @waiting.delete(waiting) }
    end

    # When the next one is over, by Clock.now.
    def next_at = all.map(&:due).min || Float::INFINITY

    # The clock was moved on.
    def rouse
      now = Clock.now
      # Who has not let go of its lock does not wait yet, and would not hear it.
      all.each { |waiting| waiting.lock.synchronize { waiting.condition.broadcast } if waiting.due <= now }
    end

    private

    def all = @lock.synchronize { @waiting.keys }
  end
end
