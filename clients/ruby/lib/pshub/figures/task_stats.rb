# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/payload"
require_relative "../wire/phases"
require_relative "callers"
require_relative "histogram"

module Pshub
  # What ended in one slice of time, or in several.
  class Window
    attr_reader :number, :ok, :errors, :callers, :us

    def initialize(number = 0)
      @number = number
      @ok = 0
      @errors = Hash.new(0)
      @callers = Hash.new(0)
      @us = Array.new(3) { Histogram.new }
    end

    def count(code)
      code ? @errors[code] += 1 : @ok += 1
    end

    def add(other)
      @ok += other.ok
      other.errors.each { |code, count| @errors[code] += count }
      other.callers.each { |name, count| @callers[name] += count }
      @us.zip(other.us) { |mine, theirs| mine.add(theirs) }
    end

    def total = @ok + @errors.values.sum

    # +callers+ are those of one task.
    def to_h(callers: true)
      us = Phases.members.map(&:to_s).zip(@us.map(&:to_h)).to_h
      { "ok" => @ok, "errors" => @errors, "callers" => (@callers if callers), "us" => us }.compact
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

    Record = Struct.new(:ok, :errors, :slices, :callers)

    def initialize
      @started_at = Clock.now
      @records = {}
      @changed_at = -Float::INFINITY
    end

    # +code+ is nil for a call that ended well; +from+ is the calling service.
    def ran(task, code, phases, from = nil)
      window = count(task, code, from)
      window.us.zip(phases.to_a) { |histogram, value| histogram.record(value) }
    end

    # A call was not started, because its time was up.
    def expired(task, from = nil) = count(task, "Expired", from)

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

    def count(task, code, from)
      now = @changed_at = Clock.now
      record = @records[task] ||= Record.new(0, Hash.new(0), [], Callers.new)
      code ? record.errors[code] += 1 : record.ok += 1
      number = (now / SLICE_S).floor
      if record.slices.last&.number != number
        record.slices = record.slices.select { |each| each.number > number - SLICES } << Window.new(number)
      end
      record.callers.count(from || "", number, record.slices.map(&:callers))
      record.slices.last.tap { |window| window.count(code) }
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
        chars += task.length + 60 + (30 * record.errors.size) + Payload.compact(callers).length
        next if chars > MAX_CHARS && !written.key?(task)

        # Names may be long and made up: they must not make all of it too long to be read.
        told = callers if chars <= MAX_CHARS
        entries[task] = { "ok" => record.ok, "errors" => record.errors, "callers" => told, "window" => written[task] }.compact
      end
    end
  end
end
