# frozen_string_literal: true

require_relative "../../jobs/cron"
require_relative "../../jobs/cron_pattern"
require_relative "../../jobs/schedule_entry"
require_relative "../../redis/failures"
require_relative "../../wire/clock"
require_relative "../../wire/errors"
require_relative "../alarm"

module Pshub
  module Roles
    # Enqueues the jobs of schedules when their times come. One worker of a queue has the turn, and sleeps until the next time; which of
    # them is quickest does not matter, because each time is taken once, in the step that sets the next one. A worker without fugit
    # leaves it to others, and tells where there are none.
    class Tick
      # What could not be done is tried again after this.
      AGAIN_S = 1.0
      # A time that is this late nobody keeps up. It is looked for, and told of, so often.
      UNKEPT_MS = 5000
      LOOK_S = 60.0

      # Whether workers here can do it.
      def self.able? = Cron::MISSING.nil?

      # +crew+ is told of each #problem.
      def initialize(crew, job_queue, connection, clock, events)
        @crew = crew
        @job_queue = job_queue
        @connection = connection
        @clock = clock
        @events = events
        @able = self.class.able?
        @looks_at = Clock.now + (UNKEPT_MS / 1000.0)
        # Entries in time zones that are not known here, and the times that were told of.
        @left = {}
        @alarm = Alarm.new(clock, ->(error) { problem(error) }) { @able ? tick_all : look }
      end

      def start = @alarm.start
      def stop = @alarm.stop
      def ended? = @alarm.ended?

      def note_beat(beat)
        return @alarm.sleep_until(beat.tick_ms, now_us: beat.now_us) if @able
        return if Clock.now < @looks_at

        @looks_at = Clock.now + LOOK_S
        @alarm.ring
      end

      # The bell of what is due rang: a schedule may be new.
      def ring = (@alarm.ring if @able)

      private

      def now_ms = @clock.at_us(Clock.now) / 1000.0
      def problem(reason) = @crew.problem("schedule", reason)

      # For those who cannot do it.
      def look
        at_ms = @job_queue.next_schedule(@connection)
        return unless at_ms && now_ms - at_ms > UNKEPT_MS

        problem("no worker runs the schedules of queue #{@job_queue.name}, and this one cannot: #{Cron::MISSING}")
      end

      def tick_all
        failed, left, before = false, 0, -1
        # What is left to others stays where it is, ahead of all that is due later.
        while before < left
          before = left
          outcomes = @job_queue.due_schedules(@connection, now_ms.floor, left).map { |due| tick(due) }
          left += outcomes.count(:left)
          failed ||= outcomes.include?(:failed)
        end
        @alarm.sleep_until(@job_queue.next_schedule(@connection, left), least_s: failed ? AGAIN_S : 0.0)
      end

      # +:done+, +:failed+ or +:left+.
      def tick(due)
        entry = ScheduleEntry.read(due.text)
        message, next_ms = entry && plan(entry, due)
        # What cannot be used has no times any more.
        problem("The schedule #{due.name} is invalid and no longer runs") unless message
        if @job_queue.tick(@connection, due, next_ms, message || "") && entry
          @events.emit("schedule:tick", queue: @job_queue.name, name: due.name, task: entry.task, tick_ms: due.tick_ms,
                                        skipped: message.to_s.empty?)
        end
        @left.delete(due.name)
        :done
      rescue Cron::UnknownZone => e
        leave(due, e.message)
      rescue ReplyError => e
        problem("#{due.name}: #{Errors.message_of(e)}")
        :failed
      end

      # A worker that knows the time zone takes its time; one line in the log says that it was not this one.
      def leave(due, why)
        problem("The schedule #{due.name} is left to workers that know its time zone: #{why}") unless @left.key?(due.name)
        told = @left[due.name]
        @left[due.name] = due.tick_ms
        @job_queue.tell_unkept(@connection, due, why) unless told == due.tick_ms
        :left
      rescue ReplyError
        :left
      end

      # nil for one whose times nobody can tell.
      def plan(entry, due)
        entry.tick(due.tick_ms, now_ms, @job_queue.name)
      rescue CronPattern::Wrong
        nil
      end
    end
  end
end
