# frozen_string_literal: true

module Pshub
  # How long a job waits before it is tried again.
  module Backoff
    # A job is tried again so often, unless it or its task says otherwise.
    DEFAULT_RETRIES = 25
    FIRST_MS = 1000
    DAY_MS = 24 * 3600 * 1000

    module_function

    # Milliseconds until the next try, after +failures+ of them (1 is the first). +exponential+: a second, doubled with each failure,
    # at most a day, spread over half to all of it. +polynomial+: n^4 + 15 + (0 to 30) * (n + 1) seconds after failure n, counted from
    # 0, as Sidekiq has it. A number: always so many milliseconds. An array: milliseconds after the first failure, the second, ...; the
    # last one goes on. +random+ is 0 to 1.
    def delay_after(backoff, failures, random = rand)
      n = failures - 1
      case backoff
      when Numeric then backoff
      when "polynomial" then (((n**4) + 15 + (random * 30 * (n + 1))) * 1000).round
      when "exponential"
        full = [DAY_MS, FIRST_MS * (2**[n, 30].min)].min.to_f
        ((full / 2) + (full / 2 * random)).round
      else backoff[[n, backoff.size - 1].min] || 0
      end
    end
  end
end
