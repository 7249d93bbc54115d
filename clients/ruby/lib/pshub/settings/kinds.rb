# frozen_string_literal: true

require_relative "../wire/times"

module Pshub
  # One setting: who uses it, where it comes from, and what is right. +parse+ reads the environment, which speaks of milliseconds where
  # this package speaks of seconds. +must+ is a text, or tells of a value what is wrong with it. +taken+, if any, makes of
  # an option what is checked and kept.
  Setting = Struct.new(:users, :env, :fallback, :parse, :must, :check, :taken, keyword_init: true) do
    # Integer() and Float() take spaces, signs and underscores as well.
    def self.digits(text) = text.match?(/\A[0-9]+\z/) ? text.to_i : raise(ArgumentError, text)

    def self.whole(low, high)
      {
        parse: ->(text) { digits(text) }, must: "be a whole number from #{low} to #{high}",
        check: ->(value) { value.is_a?(Integer) && !Times.duration?(value) && value.between?(low, high) }
      }
    end

    def self.seconds(low, high)
      {
        parse: ->(text) { digits(text) / 1000.0 }, taken: Times.method(:seconds), must: "be a number of seconds from #{low} to #{high}",
        check: ->(value) { value.is_a?(Numeric) && value.real? && value.between?(low, high) }
      }
    end

    def self.text(must, &check) = { parse: :itself.to_proc, must: must, check: check }
  end
end
