# frozen_string_literal: true

module Pshub
  # How many values, in whole microseconds, fell where, so that those of many workers can be added up. PROTOCOL.md, section 11.2.
  class Histogram
    # Some 38 hours; larger values count as this one.
    LARGEST_US = (2**37) - 1

    attr_reader :counts, :sum, :max

    # Exact up to 31; above that 16 equal parts of each power of two.
    def self.bucket_of(us)
      shift = [0, us.bit_length - 5].max
      (16 * shift) + (us >> shift)
    end

    def initialize
      @counts = {}
      @sum = @max = 0
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

    def to_h
      before = 0
      flat = @counts.keys.sort.flat_map do |bucket|
        step = bucket - before
        before = bucket
        [step, @counts[bucket]]
      end
      { "counts" => flat, "sum" => @sum, "max" => @max }
    end
  end
end
