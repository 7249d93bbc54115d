# frozen_string_literal: true

module Pshub
  module Roles
    # Takes work for idle slots and for nothing else, on a thread of its own: with no slot idle it does not touch Redis. One
    # claim is under way at a time. While the last one left work in the list the next is sent at once; else it waits for the
    # bell.
    class Fetch
      # An answer that is older, because this process was stopped or got no turn, is only used after a look at the lease.
      STALE_US = 100_000

      # +crew+ is asked for #worker_id, #long_runs, #age_s, #beat_now, and told #claimed and #problem.
      def initialize(crew, queue, waiting, commands, slots, clock)
        @crew = crew
        @queue = queue
        @waiting = waiting
        @commands = commands
        @slots = slots
        @clock = clock
        @stopping = Stop.new
        @more_waits = true
        @failures = 0
      end

      def start = @thread = Thread.new { serve }

      # No claim is started any more; one that waits for the bell ends when its connection is closed.
      def stop
        @stopping.set
        @slots.wake
      end

      def join = @thread&.join

      private

      def serve
        until @stopping.set?
          idle = @slots.wait_idle(@stopping)
          claim(idle) unless @stopping.set?
        end
      end

      def claim(idle)
        connection = @more_waits ? @commands : @waiting
        return unless connection.wait_ready(@stopping)

        worker_id = @crew.worker_id
        claimed = @queue.claim(connection, worker_id, idle, @crew.long_runs, wait: !@more_waits)
        return without_lease unless claimed

        @failures = 0
        @more_waits = claimed.left.positive?
        @crew.claimed(claimed, worker_id, age_s(claimed))
      rescue NotConnected, ConnectionLost
        # The answer may be lost with the claim made: what it took is found by reconcile.
        pause
      rescue StandardError => e
        # Also one of this package: a claim must not end this thread.
        @crew.problem("fetch", e) unless @stopping.set?
        pause
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
        @failures.zero? ? @failures += 1 : pause
      end

      def pause
        @stopping.wait(Clock.backoff(@failures, 0.02, 1.0))
        @failures += 1
      end
    end
  end
end
