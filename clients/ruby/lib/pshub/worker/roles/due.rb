# frozen_string_literal: true

require_relative "../../redis/connection"
require_relative "../../wire/clock"

module Pshub
  module Roles
    # Moves jobs whose time has come into their lists, on a thread of its own. One worker of a queue has the turn: its beats tell it when
    # the first job is due, and it sleeps until then. A job that is due before all others rings a bell; whoever hears that sleeps until
    # then, too. That two do so does no harm: what is not due stays, and what is moved is moved once.
    class Due
      # What is due later than this the beats tell of in time.
      HORIZON_S = 2.0

      # +crew+ is told of each #problem.
      def initialize(crew, job_queue, connection, clock)
        @crew = crew
        @job_queue = job_queue
        @connection = connection
        @clock = clock
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @wakes_at = Float::INFINITY
        @stopped = false
      end

      def start = @thread = Thread.new { serve }

      def note_beat(beat) = sleep_until(beat.due_ms, beat.now_us)

      # The bell rang: a job is due before all others.
      def ring = wake(Clock.now)

      def stop
        @lock.synchronize do
          @stopped = true
          @changed.broadcast
        end
        @thread&.join
      end

      private

      # What was said at +now_us+, or a little later.
      def sleep_until(due_ms, now_us)
        return if due_ms.nil?

        now = Clock.now
        wait_s = (due_ms / 1e3) - ([@clock.at_us(now), now_us].max / 1e6)
        wake(now + wait_s) if wait_s <= HORIZON_S
      end

      def wake(at)
        @lock.synchronize do
          @wakes_at = [@wakes_at, at].min
          @changed.broadcast
        end
      end

      def serve
        move while wait_for_work
      end

      # False when it is stopped. What rings while a move is under way, whose answer may not know of it, is heard here.
      def wait_for_work
        @lock.synchronize do
          until @stopped || (left = @wakes_at - Clock.now) <= 0
            @changed.wait(@lock, left == Float::INFINITY ? nil : left)
          end
          @wakes_at = Float::INFINITY
          !@stopped
        end
      end

      def move
        moved = @job_queue.move_due(@connection)
        @clock.learn(moved.now_us, Clock.now)
        sleep_until(moved.due_ms, moved.now_us)
      rescue *Connection::PROBLEMS => e
        # The next beat of whoever has the turn tells of it again.
        @crew.problem("due", e) if e.is_a?(ReplyError)
      end
    end
  end
end
