# frozen_string_literal: true

module Pshub
  # Time inside this process, in seconds, on a clock that does not jump.
  module Clock
    module_function

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # Wait before attempt 0, 1, 2 ...: doubles up to +most+, each spread over half to all of it, so that many processes do not
    # come back in step after an outage.
    def backoff(attempt, first = 0.05, most = 1.0)
      full = [most, first * (2**[attempt, 20].min)].min
      (full / 2) + (full / 2 * rand)
    end
  end
end
