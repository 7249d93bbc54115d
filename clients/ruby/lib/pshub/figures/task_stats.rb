# frozen_string_literal: true

require "etc"

module Pshub
  # How many values, in whole microseconds, fell where, so that those of many workers can be added up. PROTOCOL.md, section 11.2.
  class Histogram
    # Some 38 hours; larger values count as this one.
    LARGEST_US = (2**37) - 1
    LAST_BUCKET = 543

    attr_reader :counts, :sum, :max

    # Exact up to 31; above that 16 equal parts of each power of two.
    def self.bucket_of(us)
      shift = [0, us.bit_length - 5].max
      (16 * shift) + (us >> shift)
    end

    # What stands for all values of a bucket.
    def self.middle_of(bucket)
      return bucket if bucket < 32

      shift = (bucket / 16) - 1
      ((bucket - (16 * shift)) << shift) + (1 << (shift - 1))
    end

    # nil for what is not one: it was written by others.
    def self.read(value)
      return nil unless value.is_a?(Hash)

      flat, sum, max = value.values_at("counts", "sum", "max")
      return nil unless flat.is_a?(Array) && flat.size.even? && [*flat, sum, max].all? { |n| whole?(n) }

      counts = read_counts(flat.map(&:to_i))
      new(counts, sum.to_i, max.to_i).then { |read| read if read.sound? } if counts
    end

    def self.read_counts(flat)
      bucket = 0
      flat.each_slice(2).each_with_object({}) do |(step, count), counts|
        bucket += step
        return nil if bucket > LAST_BUCKET || counts.key?(bucket) || !count.between?(1, 2**40)

        counts[bucket] = count
      end
    end

    def self.whole?(value) = Message.whole?(value) && value >= 0 && value < 2**53

    def initialize(counts = {}, sum = 0, max = 0)
      @counts = counts
      @sum = sum
      @max = max
    end

    def record(us)
      value = [[us.to_i, 0].max, LARGEST_US].min
      bucket = Histogram.bucket_of(value)
      @counts[bucket] = @counts.fetch(bucket, 0) + 1
      @sum += value
      @max = value if value > @max
    end

    def add(other)
      @counts.merge!(other.counts) { |_, mine, theirs| mine + theirs }
      @sum += other.sum
      @max = [@max, other.max].max
    end

    def count = @counts.values.sum

    def quantile(share)
      total = count
      return nil if total.zero?

      rank = [1, (share * total).ceil].max
      return @max if rank >= total

      seen = 0
      bucket = @counts.keys.sort.find { |each| (seen += @counts[each]) >= rank }
      [Histogram.middle_of(bucket), @max].min
    end

    def to_h
      before = 0
      flat = @counts.keys.sort.flat_map do |bucket|
        step = bucket - before
        before = bucket
        [step, @counts[bucket]]
      end
      { "counts" => flat, "sum" => @sum, "max" => @max }
    end

    def sound?
      fits = @counts.empty? ? @max.zero? : @max <= LARGEST_US && Histogram.bucket_of(@max) == @counts.keys.last
      fits && @sum <= @max * count
    end
  end

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

  # What share of its slots' time a worker used in the last minute.
  class BusyShare
    MEMORY_S = 60.0

    def initialize(slots)
      @slots = slots
      @looks = [[Clock.now, 0.0]]
    end

    # 0 to 1. +used_s+ is the time used since the start, all slots together.
    def look(used_s)
      now = Clock.now
      @looks << [now, used_s]
      @looks.shift while @looks.size > 2 && now - @looks[1][0] >= MEMORY_S
      since, before = @looks.first
      all_s = (now - since) * @slots
      all_s.positive? ? ((used_s - before) / all_s).clamp(0.0, 1.0).round(3) : 0.0
    end

    # This process's memory, where the system tells.
    def self.rss_bytes
      File.read("/proc/self/statm").split[1].to_i * Etc.sysconf(Etc::SC_PAGESIZE)
    rescue SystemCallError
      nil
    end
  end
end
