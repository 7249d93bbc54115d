# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/payload"
require_relative "../wire/phases"
require_relative "callers"
require_relative "histogram"

module Pshub
  # Calls that ended, by how; those that did not end well by code.
  class Counts
    MAX_OWN_CODES = 50
    OTHER_CODES = "Other"

    attr_reader :ok, :codes

    def initialize
      @ok = 0
      @codes = { "rejected" => Hash.new(0), "failed" => Hash.new(0) }
    end

    # Returns the code under which it was counted: a handler can make up codes without end.
    def count(outcome, code, calls = 1)
      if outcome == "ok"
        @ok += calls
        return nil
      end

      code = OTHER_CODES unless known?(code)
      @codes.fetch(outcome)[code] += calls
      code
    end

    def add(other)
      @ok += other.ok
      other.codes.each { |outcome, codes| codes.each { |code, calls| count(outcome, code, calls) } }
    end

    def total = @ok + @codes.each_value.sum { |codes| codes.values.sum }
    def size = @codes.each_value.sum(&:size)
    def to_h = { "ok" => @ok, **@codes }

    private

    # Or there is room for it.
    def known?(code)
      return true if ERROR_TABLE.key?(code) || @codes.each_value.any? { |codes| codes.key?(code) }

      own = @codes.values.flat_map(&:keys).uniq - ERROR_TABLE.keys - [OTHER_CODES]
      own.size < MAX_OWN_CODES
    end
  end

  # What ended in one slice of time, or in several.
  class Window
    attr_reader :number, :counts, :callers, :us

    def initialize(number = 0)
      @number = number
      @counts = Counts.new
      @callers = Hash.new(0)
      @us = Array.new(3) { Histogram.new }
    end

    def add(other)
      @counts.add(other.counts)
      other.callers.each { |name, count| @callers[name] += count }
      @us.zip(other.us) { |mine, theirs| mine.add(theirs) }
    end

    def total = @counts.total

    # +callers+ are those of one task.
    def to_h(callers: true)
      us = Phases.members.map(&:to_s).zip(@us.map(&:to_h)).to_h
      { **@counts.to_h, "callers" => (@callers if callers), "us" => us }.compact
    end
  end

  # What a worker's tasks did: counts since the start, and counts and histograms of the last minute. PROTOCOL.md, section 11.1.
  # Used under the worker's lock.
  class TaskStats
    SLICE_S = 10
    SLICES = 6
    MAX_WINDOWS = 200
    MAX_WINDOW_CHARS = 65_536
    MAX_CHARS = 524_288

    # +jobs+: of the counts, the runs of jobs; nil where there were none.
    Record = Struct.new(:counts, :slices, :callers, :jobs)

    def initialize
      @started_at = Clock.now
      @records = {}
      @changed_at = -Float::INFINITY
    end

    # +code+ is nil for a call that ended well; +status+ is what its handler chose, +from+ the calling service.
    def ran(task, code, status, phases, from = nil, job: false)
      window = count(task, Errors.outcome_of(code, status), code, from, job: job)
      window.us.zip(phases.to_a) { |histogram, value| histogram.record(value) }
    end

    # A call was not started, because its time was up.
    def expired(task, from = nil) = count(task, "rejected", "Expired", from)

    # Also while something is still in a window.
    def changed? = Clock.now - @changed_at <= (SLICES + 1) * SLICE_S

    def text
      now = Clock.now
      oldest = (now / SLICE_S).floor - SLICES + 1
      written, others = written_windows(windows(oldest))
      covered_s = [now - @started_at, now - (oldest * SLICE_S)].min
      value = { "ms" => [1, (covered_s * 1000).round].max, "tasks" => entries(written) }
      value["others"] = others.to_h(callers: false) if others.total.positive?
      Payload.compact(value)
    end

    private

    def count(task, outcome, code, from, job: false)
      now = @changed_at = Clock.now
      record = @records[task] ||= Record.new(Counts.new, [], Callers.new)
      number = (now / SLICE_S).floor
      if record.slices.last&.number != number
        record.slices = record.slices.select { |each| each.number > number - SLICES } << Window.new(number)
      end
      record.callers.count(from || "", number, record.slices.map(&:callers))
      code = record.counts.count(outcome, code)
      (record.jobs ||= Counts.new).count(outcome, code) if job
      record.slices.last.tap { |window| window.counts.count(outcome, code) }
    end

    def windows(oldest)
      @records.to_h do |task, record|
        [task, record.slices.select { |each| each.number >= oldest }.each_with_object(Window.new) { |each, sum| sum.add(each) }]
      end.select { |_, window| window.total.positive? }
    end

    # The busiest as they are, as far as there is room, and the sum of the rest.
    def written_windows(windows)
      others = Window.new
      written = {}
      chars = 0
      windows.sort_by { |_, window| -window.total }.each do |task, window|
        told = window.to_h
        chars += Payload.compact(told).length
        fits = written.size < MAX_WINDOWS && chars <= MAX_WINDOW_CHARS
        fits ? written[task] = told : others.add(window)
      end
      [written, others]
    end

    def entries(written)
      chars = 0
      @records.each_with_object({}) do |(task, record), entries|
        callers = record.callers.totals
        chars += task.length + 60 + (30 * record.counts.size) + Payload.compact(callers).length
        next if chars > MAX_CHARS && !written.key?(task)

        # Names may be long and made up: they must not make all of it too long to be read.
        told = callers if chars <= MAX_CHARS
        entries[task] = { **record.counts.to_h, "jobs" => record.jobs&.to_h, "callers" => told, "window" => written[task] }.compact
      end
    end
  end
end
