# frozen_string_literal: true

require_relative "../../redis/failures"
require_relative "../../wire/clock"
require_relative "../../wire/stop"

module Pshub
  module Roles
    # Takes work for idle slots and for nothing else, on a thread of its own: with no slot idle it does not touch Redis. One
    # claim is under way at a time. While the last one left work in the list the next is sent at once; else it waits for the
    # bell. After a claim that brought what only others can run it rests: that is in the list again. While the queue is paused it
    # takes nothing; the claim behind a wait that is ended then still runs: it is in Redis. While as many jobs run as may, it does
    # not listen for further ones: their bell would wake it again and again. When one of them ends, that wait is ended.
    class Fetch
      # An answer that is older, because this process was stopped or got no turn, is only used after a look at the lease.
      STALE_US = 100_000
      # What ends a wait may overtake it, because it is sent on another connection; then it is sent again after this long.
      AGAIN_S = 0.003

      # A wait for the bell that is under way. +deaf+: it listens for calls alone, though jobs are taken here.
      Wait = Struct.new(:deaf, :over)

      # +crew+ is asked for #worker_id, #epoch, #age_s and #beat_now, and told #claimed, which tells how long to rest, #due_bell and #problem.
      # +merging+ are the tasks whose jobs are merged.
      def initialize(crew, queue, waiting, commands, slots, clock, merging = [])
        @crew = crew
        @queue = queue
        @waiting = waiting
        @commands = commands
        @slots = slots
        @clock = clock
        @merging = merging
        @stopping = Stop.new
        @more_waits = true
        @failures = 0
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @paused = false
        @deaf_waits = Thread::Queue.new
      end

      def start
        @thread = Thread.new { serve }
        @listener = Thread.new { listen } if @slots.takes_jobs?
      end

      # No claim is started any more; one that waits for the bell ends when its connection is closed.
      def stop
        @stopping.set
        @slots.wake
        @deaf_waits << nil
        @lock.synchronize { @changed.broadcast }
      end

      # Takes nothing more until #resume. To be said with each beat of the pause: what ends a wait may overtake that wait, which
      # is sent on another connection.
      def pause
        @lock.synchronize { @paused = true }
        client_id = @waiting.client_id
        @queue.end_wait(@commands, client_id) if @wait && client_id
      end

      def resume
        @lock.synchronize do
          @paused = false
          @changed.broadcast
        end
      end

      def join = [@thread, @listener].compact.each(&:join)

      private

      def serve
        until @stopping.set?
          wait_resumed
          idle = @slots.wait_idle(@stopping)
          claim(idle) unless halted?
        end
      end

      def halted? = @paused || @stopping.set?

      def wait_resumed
        @lock.synchronize do
          while @paused && !@stopping.set?
            # The bell's token may be gone by then, and what it announced still waits.
            @more_waits = true
            @changed.wait(@lock)
          end
        end
      end

      def claim(idle)
        connection = @more_waits ? @commands : @waiting
        return unless connection.wait_ready(@stopping) && !halted?

        worker_id = @crew.worker_id
        claimed = ask(connection, worker_id, idle, @slots.job_room)
        return without_lease unless claimed

        @failures = 0
        @more_waits = claimed.left.positive? || (claimed.jobs_left.positive? && @slots.job_room.positive?)
        rest_s = @crew.claimed(claimed, worker_id, age_s(claimed))
        @stopping.wait(rest_s) if rest_s.positive?
      rescue NotConnected, ConnectionLost
        # The answer may be lost with the claim made: what it took is found by reconcile. A wait that broke may have taken the
        # token with it, and what that announced still waits.
        @more_waits = true
        back_off
      rescue StandardError => e
        # Also one of this package: a claim must not end this thread.
        @crew.problem("fetch", e) unless @stopping.set? || (e.is_a?(ReplyError) && e.passing? && @waiting.spread?)
        back_off
      end

      def ask(connection, worker_id, idle, room)
        how = { epoch: @crew.epoch, merging: @merging }
        return @queue.claim(connection, worker_id, idle, room, wait: false, **how) if @more_waits

        @wait = wait = Wait.new(@slots.takes_jobs? && !room.positive?, false)
        @deaf_waits << wait if wait.deaf
        @queue.claim(connection, worker_id, idle, room, wait: true, **how) { @crew.due_bell }
      ensure
        @wait = nil
        if wait
          wait.over = true
          @slots.wake
        end
      end

      # Ends a deaf wait when there is room for a job again.
      def listen
        while (wait = @deaf_waits.pop)
          over = -> { wait.over || @stopping.set? }
          @slots.wait_room(&over)
          client_id = @waiting.client_id or next
          @stopping.wait(AGAIN_S) until over[] || @queue.end_wait(@commands, client_id)
        end
      end

      # Deadlines went on while the answer waited here, and so did the lease: what it brought may be somebody else's by now.
      def age_s(claimed)
        now_us = @clock.at_us(Clock.now)
        stale = !claimed.requests.empty? && (now_us.zero? || now_us - claimed.now_us > STALE_US)
        stale ? @crew.age_s(claimed) : 0.0
      end

      def without_lease
        @crew.beat_now
        # The bell's token is taken, and what it announced still waits.
        @more_waits = true
        # A beat that failed, on a full disk for one, must not make this a busy loop.
        @failures.zero? ? @failures += 1 : back_off
      end

      def back_off
        @stopping.wait(Clock.backoff(@failures, 0.02, 1.0))
        @failures += 1
      end
    end
  end
end
