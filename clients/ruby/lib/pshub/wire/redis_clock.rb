# frozen_string_literal: true

module Pshub
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
end
