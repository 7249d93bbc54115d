# frozen_string_literal: true

require_relative "../wire/payload"

module Pshub
  # Counts the calls of one hub that no worker ended, for others to read: PROTOCOL.md, section 11.5. Time is in monotonic
  # milliseconds and given by the caller. Used under the lock of its UnansweredReport.
  class Unanswered
    MAX_TASKS = 50
    MAX_MESSAGE_CHARS = 300
    MAX_TASK_CHARS = 256
    # Tasks that had none for longest are left out where this many characters are full.
    MAX_CHARS = 65_536
    SLICE_MS = 10_000
    SLICES = 6
    # Whoever calls ended these by themselves: nothing is wrong.
    OWN = %w[HubClosed Aborted].freeze

    # The calls of one task that ended with one code. +slices+: number of the slice of time -> calls.
    Counted = Struct.new(:count, :ended_at, :message, :id, :slices)
    # +queue+ is nil where none was known.
    Known = Struct.new(:queue, :codes)
    private_constant :Counted, :Known

    def initialize
      # The task that had one last is the last one.
      @tasks = {}
      @new = false
      @slice = 0
    end

    def count(called, queue, error, now_ms)
      return if OWN.include?(error.kind)

      task = text_of(called)[0, MAX_TASK_CHARS]
      known = @tasks.delete(task) || Known.new(nil, {})
      known.queue = queue || known.queue
      @tasks.shift if @tasks.size >= MAX_TASKS
      @tasks[task] = known
      counted = known.codes[error.kind] ||= Counted.new(0, now_ms, "", nil, Hash.new(0))
      counted.count += 1
      counted.ended_at = now_ms
      counted.message = text_of(error.message)[0, MAX_MESSAGE_CHARS]
      counted.id = error.id
      counted.slices[slice_of(now_ms)] += 1
      @new = true
    end

    # Whether what would be written differs from what was: never while nothing was refused for more than a minute.
    def changed?(now_ms) = @new || (slice_of(now_ms) != @slice && recent?)

    # Whether any is in the window, or not told yet.
    def recent? = @new || @tasks.each_value.any? { |known| known.codes.each_value.any? { |counted| counted.slices.any? } }

    # What was told did not arrive.
    def again = @new = true

    # The tasks that were refused last, as many as there is room for. +whose+: name of the service, host and pid.
    def text(now_ms, redis_now_ms, whose)
      @new = false
      @slice = slice_of(now_ms)
      record = { "seen" => redis_now_ms, **whose.transform_keys(&:to_s), "tasks" => [] }
      chars = Payload.compact(record).length
      told = @tasks.to_a.reverse.map { |task, known| told_of(task, known, redis_now_ms - now_ms) }
      record["tasks"] = told.take_while { |each| (chars += Payload.compact(each).length + 1) <= MAX_CHARS }
      Payload.compact(record)
    end

    private

    def slice_of(now_ms) = (now_ms / SLICE_MS).floor

    # Names and messages of others may be no text that JSON can hold.
    def text_of(value) = value.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub

    def told_of(task, known, to_redis_ms)
      codes = known.codes.map do |code, counted|
        counted.slices.delete_if { |at, _| at <= @slice - SLICES }
        { "code" => code, "lastMinute" => counted.slices.values.sum, "count" => counted.count,
          "atMs" => (counted.ended_at + to_redis_ms).round, "message" => counted.message, "id" => counted.id }.compact
      end
      { "task" => task, "queue" => known.queue, "codes" => codes }.compact
    end
  end
end
