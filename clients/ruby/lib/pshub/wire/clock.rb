# frozen_string_literal: true

module Pshub
  # Time inside this process, in seconds, on a clock that does not jump.
  module Clock
    module_function

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # Wait before attempt 0, 1, 2 ...: doubles up to +most+, each spread over half to all of it, so that many processes do not
    # come back in step after an outage.
    def backoff(attempt, first = 0.05, most = 1.0)
      full = [most, first * (2**[attempt, 20].min)].min
      (full / 2) + (full / 2 * rand)
    end
  end

  # Set once, never cleared; waited for by any number of threads.
  class Stop
    def initialize
      @lock = Mutex.new
      @changed = ConditionVariable.new
      @set = false
    end

    def set? = @set

    def set
      @lock.synchronize do
        @set = true
        @changed.broadcast
      end
    end

    # Returns after +seconds+ (nil: no limit), or at once when it is set; true when it is.
    def wait(seconds = nil)
      finish = seconds && (Clock.now + seconds)
      @lock.synchronize do
        until @set
          left = finish && (finish - Clock.now)
          break if left && left <= 0

          @changed.wait(@lock, left)
        end
        @set
      end
    end
  end

  # Redis' clock from answers that tell the time at which they were given. They are read later than that, so the estimate is
  # behind by an answer's way, and the shortest of the last ways counts. It is never ahead: what is judged late by it is late.
  class RedisClock
    MEMORY_S = 10.0
    # An answer that is later than this is none: the clock was set back. Connections do not wait so long.
    STEP_S = 2.0
    # As far ahead of all the last answers: the clock was set forward. It drifts by microseconds in that time.
    FORWARD_S = 0.25
    UNKNOWN = -Float::INFINITY

    def initialize
      @lock = Mutex.new
      @best = @before = @period_end = @stepped_at = UNKNOWN
    end

    # When an answer last showed that Redis' clock was set forward.
    def stepped_at = @lock.synchronize { @stepped_at }

    # An answer came at +at+ that Redis gave at +at_us+.
    def learn(at_us, at)
      @lock.synchronize do
        if at > @period_end
          # Old samples go, so that neither drift nor a step of Redis' clock stays in the estimate.
          @before = at > @period_end + MEMORY_S ? UNKNOWN : @best
          @best = UNKNOWN
          @period_end = at + MEMORY_S
        end
        offset = (at_us / 1e6) - at
        known = [@best, @before].max
        # Nothing but a step does that: an answer that is read late shows less, never more.
        @stepped_at = at if known != UNKNOWN && offset > known + FORWARD_S
        if offset < known - STEP_S
          @best = @before = offset
        else
          @best = [@best, offset].max
        end
      end
    end

    # Redis microseconds at that moment, or a little less; 0 while nothing is known.
    def at_us(at)
      @lock.synchronize do
        offset = [@best, @before].max
        return 0 if offset == UNKNOWN || at > @period_end + MEMORY_S

        ((at + offset) * 1e6).floor
      end
    end
  end

  # Ends many things in time with one thread: it sleeps until the earliest deadline it knew of and looks at all entries then.
  # Since most are deleted long before, adding costs nothing. An entry has +deadline+ (as of Clock.now) and +expire+.
  class Deadlines
    PAUSE_S = 0.005

    def initialize
      @lock = Mutex.new
      @changed = ConditionVariable.new
      @entries = {}.compare_by_identity
      @next_look = Float::INFINITY
      @stopped = false
    end

    def start = @thread = Thread.new { watch }

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
