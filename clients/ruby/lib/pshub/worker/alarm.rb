# frozen_string_literal: true

require_relative "../redis/connection"
require_relative "../redis/failures"
require_relative "../wire/clock"

module Pshub
  # Does something when its time comes, on a thread of its own, and never twice at once. The beats of whoever has the turn tell of that
  # time, the bell of what is due that there may be an earlier one, and each doing of the one after it.
  class Alarm
    # What comes later than this the beats tell of in time.
    HORIZON_S = 2.0

    # The block does it; +on_problem+ is told of what Redis refuses.
    def initialize(clock, on_problem, &act)
      @clock = clock
      @on_problem = on_problem
      @act = act
      @lock = Mutex.new
      @changed = Clock.condition
      @wakes_at = Float::INFINITY
      @stopped = false
    end

    def start = @thread = Thread.new { serve }
    def ended? = @thread&.alive? == false

    # Redis milliseconds, nil for none, and not sooner than +least_s+ from now; +now_us+: when that was said, or a little earlier.
    def sleep_until(at_ms, now_us: 0, least_s: 0.0)
      return if at_ms.nil?

      now = Clock.now
      wait_s = [least_s, (at_ms / 1e3) - ([@clock.at_us(now), now_us].max / 1e6)].max
      wake(now + wait_s) if wait_s <= HORIZON_S
    end

    def ring = wake(Clock.now)

    def stop
      @lock.synchronize do
        @stopped = true
        @changed.broadcast
      end
      @thread&.join
    end

    private

    def wake(at)
      @lock.synchronize do
        @wakes_at = [@wakes_at, at].min
        @changed.broadcast
      end
    end

    def serve
      act while wait_for_work
    end

    # False when it is stopped. What rings while something is under way, whose answer may not know of it, is heard here.
    def wait_for_work
      @lock.synchronize do
        until @stopped || (left = @wakes_at - Clock.now) <= 0
          @changed.wait(@lock, left == Float::INFINITY ? nil : left)
        end
        @wakes_at = Float::INFINITY
        !@stopped
      end
    end

    def act
      @act.call
    rescue *Connection::PROBLEMS => e
      # The next beat of whoever has the turn tells of it again.
      @on_problem.call(e) if e.is_a?(ReplyError)
    rescue StandardError => e
      # Also one of this package: it must not end this thread.
      @on_problem.call(e)
    end
  end
end
