# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/times"
require_relative "memory/server"
require_relative "threads"
require_relative "waits"

module Pshub
  # The clock of pshub in this process and of its Redis in memory. It runs by itself, so that nothing hangs; a test can advance it, and
  # everything due on the way happens in order: schedules, retries, deadlines, expiring leases and keys. +sleep+ in handlers is not
  # affected.
  class TestClock
    # Further than this the clock goes in strides: what looks around each second need not do so 86,400 times a day.
    EXACT_S = 60.0
    # So many on the way. While there is work none is so long that its worker's lease could end; who holds nothing just renews it.
    STRIDES = 300
    SAFE_STRIDE_S = 240.0
    # So many steps on the way are as short as anything that waits, after something has come due.
    EXACT_STEPS = 30
    # The clock goes no further at a time while there is work, and while there seems to be none.
    WORKING_S = 0.05
    LIVING_S = 2.0
    # So many looks in a row, this far apart in real time, without a command or a thread that runs, and nothing is going on. Threads that compute for
    # so long are handlers, and not waited for.
    QUIET_LOOKS = 3
    LOOK_S = 0.0005
    COMPUTING_S = 0.5
    # Who works for so long, in real time, without a pause does so for ever.
    ENDLESS_S = 30.0
    ENDLESS = "Work continued for #{ENDLESS_S} s without a pause. Do jobs enqueue each other endlessly?"
    BLIND_LOOK_S = 0.002
    # What is to happen this soon belongs to what is going on.
    SOON_S = 0.01

    @waits = Waits.new
    @users = 0

    class << self
      attr_reader :waits

      def begin
        Clock.conditions = @waits if (@users += 1) == 1
      end

      # When the last one is closed, time is again what it is.
      def end
        return unless (@users -= 1).zero?

        Clock.conditions = ConditionVariable
        Clock.move(-Clock.ahead_s)
      end
    end

    def initialize(redis, runs)
      @redis = redis
      @runs = runs
      @threads = Threads.new
      @closed = false
      TestClock.begin
    end

    # Milliseconds since 1970 on the clock of the test.
    def now_ms = Clock.wall_ms

    # Advances the clock. Returns when everything due by then has happened. A running handler gets a tenth of a second of real time to end
    # before the clock passes it. Raises ConfigError for a negative or invalid time, and when the kit was closed; RuntimeError when work
    # continues for half a minute of real time without a pause.
    def advance(seconds)
      raise ConfigError, MemoryRedis::CLOSED if @closed

      seconds = Times.seconds(seconds)
      unless Times.number?(seconds) && seconds >= 0
        raise ConfigError, "clock.advance takes seconds from 0, not #{seconds.inspect}."
      end

      finish = Clock.now + seconds
      longest = seconds <= EXACT_S ? 0.0 : seconds.to_f / STRIDES
      exact_steps = EXACT_STEPS
      quiet
      while (now = Clock.now) < finish && !@closed
        left = longest.positive? && @redis.ask("left").any?
        stride = left || @runs.running.positive? ? [SAFE_STRIDE_S, longest].min : longest
        if left && exact_steps.positive?
          # What is due is on its way to its handler, by waits of a few milliseconds.
          exact_steps -= 1
          stride = 0.0
        end
        due = next_due(now)
        # Who lives waits for less than this: where nobody seems to, they are all on their way somewhere.
        reach = [stride, left ? WORKING_S : LIVING_S].max
        to = [[next_at, now + stride].max, now + reach, due, finish].min
        exact_steps = EXACT_STEPS if to == due
        move_to(to)
        quiet
      end
    end

    # Advances the clock to a Time. Raises ConfigError when it has passed.
    def advance_to(time)
      ms = Times.moment_ms(time)
      raise ConfigError, "clock.advance_to takes a Time, not #{time.inspect}." unless ms

      seconds = (ms - Clock.wall_ms) / 1000.0
      raise ConfigError, "clock.advance_to takes a future time: #{time} has passed, and the clock cannot go back." if seconds.negative?

      advance(seconds)
    end

    # Returns when nothing is going on: no command, and, but without patience, no handler that has just begun. Moves the clock by some milliseconds at
    # most. It returns by +finish+, of real time, whatever goes on. Raises RuntimeError when that never ends.
    def quiet(patient: true, finish: Float::INFINITY)
      idle, seen, moves, changed_at = 0, nil, 0, real_now
      endless_at = real_now + ENDLESS_S
      until @closed || real_now >= finish
        raise ENDLESS if !finish.finite? && real_now > endless_at

        sleep @threads.blind? ? BLIND_LOOK_S : LOOK_S
        changed_at = real_now if @redis.commands != seen
        idle = @redis.commands == seen ? idle + 1 : 0
        seen = @redis.commands
        next if idle < QUIET_LOOKS

        if real_now - changed_at < COMPUTING_S && @threads.busy? then nil
        elsif patient && @runs.may_end? then sleep 0.001
        elsif next_at < Clock.now + SOON_S && (moves += 1) <= QUIET_LOOKS then move_to(next_at)
        else return
        end
        idle = 0
      end
    end

    # Moves on by what is to happen next, but by so much at most. Returns by how much.
    def step(most_s, finish: Float::INFINITY)
      now = Clock.now
      to = [now, [next_at, now + most_s].min].max
      move_to(to)
      quiet(finish: finish)
      to - now
    end

    def close
      return if @closed

      @closed = true
      @threads.close
      TestClock.end
    end

    private

    def real_now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    def next_at = [TestClock.waits.next_at, @redis.soonest_at].min

    def move_to(at)
      Clock.move([0.0, at - Clock.now].max)
      TestClock.waits.rouse
      @redis.wake
    end

    # When the next job or schedule is due after now. Redis counts whole milliseconds.
    def next_due(now)
      due = @redis.ask("due").first
      due.nil? || due == "inf" ? Float::INFINITY : now + ((due.to_f - Clock.wall_ms + 1) / 1000.0)
    end
  end
end
