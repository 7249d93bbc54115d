# frozen_string_literal: true

require_relative "../figures/recent_failures"
require_relative "../figures/task_stats"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "held"

module Pshub
  # All that one worker measures of its tasks for others to read. Used by many threads.
  class Measures
    # Texts of what was measured; nil where nothing has changed since the last ones.
    Texts = Struct.new(:task_stats, :failures)

    def initialize(clock)
      @clock = clock
      @lock = Mutex.new
      @task_stats = TaskStats.new
      @failures = RecentFailures.new
      @repeat = false
    end

    # A call ended that ran; +error+ is nil when it ended well, and what its caller is told if not.
    def ran(request, error, phases)
      @lock.synchronize do
        code, status = error&.values_at("code", "status")
        @task_stats.ran(request.task, code, status, phases, request.from, job: Held.job?(request.held_id))
        # What handlers reject is no fault, and would leave no room for what is.
        keep(request, code, error["message"], phases.exec) if error && !Errors.expected?(code, status)
      end
    end

    # A call was not started, because its time was up; +error+ is what its caller is told.
    def expired(request, error)
      @lock.synchronize do
        @task_stats.expired(request.task, request.from)
        keep(request, error["code"], error["message"], 0)
      end
    end

    # What to publish; all of it when +all+, or when the last texts did not arrive.
    def texts(all)
      @lock.synchronize do
        all ||= @repeat
        @repeat = false
        Texts.new((@task_stats.text if all || @task_stats.changed?), (@failures.text if all || @failures.changed?))
      end
    end

    # The last texts may not have arrived.
    def repeat = @lock.synchronize { @repeat = true }

    private

    def keep(request, code, message, exec_us)
      @failures.keep(request, @clock.at_us(Clock.now), code, message, exec_us)
    end
  end
end
