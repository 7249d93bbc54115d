# frozen_string_literal: true

require_relative "../../wire/clock"
require_relative "../alarm"

module Pshub
  module Roles
    # Moves jobs whose time has come into their lists. One worker of a queue has the turn: its beats tell it when the first job is due,
    # and it sleeps until then. A job that is due before all others rings a bell; whoever hears that sleeps until then, too. That two do
    # so does no harm: what is not due stays, and what is moved is moved once.
    class Due
      # +crew+ is told of each #problem.
      def initialize(crew, job_queue, connection, clock)
        @job_queue = job_queue
        @connection = connection
        @clock = clock
        @alarm = Alarm.new(clock, ->(error) { crew.problem("due", error) }) { move }
      end

      def start = @alarm.start
      def stop = @alarm.stop
      def ended? = @alarm.ended?
      def note_beat(beat) = @alarm.sleep_until(beat.due_ms, now_us: beat.now_us)

      # The bell rang: a job is due before all others.
      def ring = @alarm.ring

      private

      def move
        moved = @job_queue.move_due(@connection)
        @clock.learn(moved.now_us, Clock.now)
        @alarm.sleep_until(moved.due_ms, now_us: moved.now_us)
      end
    end
  end
end
