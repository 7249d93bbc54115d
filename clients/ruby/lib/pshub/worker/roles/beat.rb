# frozen_string_literal: true

require "monitor"
require_relative "../../redis/connection"
require_relative "../../redis/failures"
require_relative "../../wire/clock"
require_relative "../../wire/stop"

module Pshub
  module Roles
    # Keeps the lease, on a thread of its own: renews it every second, and takes one under a new identity when it was lost.
    class BeatLoop
      EVERY_S = 1.0
      # A short lease is renewed more often: a beat that is late by half of it must not pass for a death.
      PER_LEASE = 4

      # +crew+ is asked for #worker_id, #serving? and #ticks?, and told #become_new, #publish, #beaten, #registered (once) and #problem.
      def initialize(crew, queue, connection, lease_s, clock)
        @crew = crew
        @queue = queue
        @connection = connection
        @lease_s = lease_s
        @clock = clock
        @stopping = Stop.new
        @beating = Monitor.new
        # When the last beat that kept the lease was sent.
        @sent_at = -Float::INFINITY
      end

      def start = @thread = Thread.new { serve }
      def ended? = @thread&.alive? == false

      def stop
        @stopping.set
        @thread&.join
      end

      # When the last beat that kept the lease was sent, as Clock has it.
      attr_reader :sent_at

      # True while nobody can have adopted from this worker: counted from before the beat was sent, so it ends too early.
      def certain? = Clock.now < @sent_at + @lease_s

      # Returns the beat when the lease is held, nil when the connection is gone again.
      def beat_now
        @beating.synchronize do
          first = @registered.nil?
          beat, held = renew
          unless beat.held
            @crew.become_new
            beat, held = renew
          end
          @crew.beaten(beat, held)
          @crew.registered if first && beat.held
          beat
        end
      rescue NotConnected, ConnectionLost
        nil
      rescue StandardError => e
        @crew.problem("beat", e)
        nil
      end

      private

      def serve
        every = [EVERY_S, @lease_s / PER_LEASE].min
        until @stopping.set?
          @connection.wait_ready(@stopping)
          return if @stopping.set?

          started_at = Clock.now
          beat_now
          @stopping.wait([0.05, every - (Clock.now - started_at)].max)
        end
      end

      def renew
        worker_id = @crew.worker_id
        sent_at = Clock.now
        wanted = { first: @registered != worker_id, moves: @crew.serving?, ticks: @crew.ticks? }
        beat, held = @queue.beat(@connection, worker_id, (@lease_s * 1000).round, **wanted)
        # Known to Redis from here on, also when the registry cannot be written: a lost lease must not be taken as a first one.
        return [beat, held] unless beat.held

        @registered = worker_id
        @sent_at = sent_at
        @clock.learn(beat.now_us, Clock.now)
        publish(beat)
        [beat, held]
      end

      # The registry is for others to see; a full Redis refuses it, and all that a beat sets off must go on all the same.
      def publish(beat)
        @crew.publish(beat.now_us / 1000)
      rescue *Connection::PROBLEMS => e
        @crew.problem("registry", e) if e.is_a?(ReplyError)
      end
    end
  end
end
