# frozen_string_literal: true

module Pshub
  # Durations and moments as programs give them. Those of Active Support are taken where it is loaded: its Duration passes for the number of
  # its seconds, which is wrong wherever milliseconds or a count are meant. What is no time stays as it is, for the check that names its option.
  module Times
    # 2001-01-01. A number below it was meant to be seconds.
    EARLIEST_MS = 978_307_200_000

    module_function

    # Milliseconds of a duration, or of each in an array.
    def ms(given)
      return given.map { |each| ms(each) } if given.is_a?(Array)

      duration?(given) ? (given.to_f * 1000).round : given
    end

    # Seconds of a duration.
    def seconds(given) = duration?(given) ? given.to_f : given

    # Milliseconds since 1970 of a Time, also one with a zone, or a DateTime; nil for anything else.
    def moment_ms(given)
      return given.to_r * 1000 if given.is_a?(Time)

      given.to_time.to_r * 1000 if defined?(::DateTime) && given.is_a?(::DateTime)
    end

    # What is wrong with a number that is given as a moment; nil for nothing.
    def too_early(name, number)
      return if number >= EARLIEST_MS

      "#{name} must be milliseconds since 1970; #{number} is in #{Time.at(number / 1000r).utc.year}: multiply seconds by 1000"
    end

    # Whether it counts something.
    def number?(given) = given.is_a?(Numeric) && !duration?(given) && given.real? && given.to_f.finite?

    def duration?(given) = defined?(::ActiveSupport::Duration) && given.is_a?(::ActiveSupport::Duration)
  end
end
