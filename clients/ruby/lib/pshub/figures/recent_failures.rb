# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/payload"

module Pshub
  # The last failures of each task of one worker, for others to read. Calls that end well do not come here. PROTOCOL.md, section
  # 11.4. Used under the worker's lock.
  class RecentFailures
    MAX_FAILURES = 10
    MAX_TASKS = 50
    MEMORY_S = 3600
    MAX_MESSAGE_CHARS = 300
    # Tasks that have not failed for long are left out where this many characters are full.
    MAX_CHARS = 131_072

    def initialize
      # Newest first, each with the time when it ended; the task that failed last is the last one.
      @by_task = {}
      @changed = false
    end

    # +at_us+ is Redis' time now; +message+ is what the caller was told.
    def keep(request, at_us, code, message, exec_us)
      failure = { "id" => request.id, "at" => at_us, "code" => code, "message" => message.scrub[0, MAX_MESSAGE_CHARS] }
      failure["from"] = request.from if request.from
      failure["execUs"] = exec_us
      kept = @by_task.delete(request.task) || []
      @by_task.shift if @by_task.size >= MAX_TASKS
      @by_task[request.task] = [[Clock.now, failure], *kept.first(MAX_FAILURES - 1)]
      @changed = true
    end

    # Also when one was forgotten since the last text.
    def changed?
      forget
      @changed
    end

    # Those of the tasks that failed last, as many as there is room for.
    def text
      forget
      @changed = false
      chars = 2
      texts = @by_task.keys.reverse.map { |task| "#{Payload.compact(task)}:#{Payload.compact(@by_task[task].map(&:last))}" }
      "{#{texts.take_while { |text| (chars += text.length + 1) <= MAX_CHARS }.join(',')}}"
    end

    private

    def forget
      oldest = Clock.now - MEMORY_S
      return if @by_task.each_value.all? { |kept| kept.last.first > oldest }

      @by_task = @by_task.transform_values { |kept| kept.select { |at, _| at > oldest } }.reject { |_, kept| kept.empty? }
      @changed = true
    end
  end
end
