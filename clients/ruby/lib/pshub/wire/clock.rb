# frozen_string_literal: true

module Pshub
  # Time inside this process, in seconds, on a clock that does not jump.
  module Clock
    # How far tests have moved it on, in seconds; and what threads wait by, which is told of that.
    @ahead_s = 0.0
    @conditions = ConditionVariable

    class << self
      attr_reader :ahead_s
      attr_writer :conditions

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC) + @ahead_s

      # Milliseconds since 1970, as this host has it.
      def wall_ms = (Process.clock_gettime(Process::CLOCK_REALTIME, :float_millisecond) + (@ahead_s * 1000)).floor

      def condition = @conditions.new
      def move(seconds) = @ahead_s += seconds
    end

    module_function

    # Wait before attempt 0, 1, 2 ...: doubles up to +most+, each spread over half to all of it, so that many processes do not
    # come back in step after an outage.
    def backoff(attempt, first = 0.05, most = 1.0)
      full = [most, first * (2**[attempt, 20].min)].min
      (full / 2) + (full / 2 * rand)
    end
  end
end
