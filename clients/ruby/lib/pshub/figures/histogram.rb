# frozen_string_literal: true

require_relative "../wire/payload"

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

    def self.whole?(value) = Payload.whole?(value) && value >= 0 && value < 2**53

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
end
