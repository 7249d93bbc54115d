# frozen_string_literal: true

module Pshub
  # One setting: who uses it, where it comes from, and what is right. +parse+ reads the environment, which speaks of milliseconds where
  # this package speaks of seconds. +must+ is a text, or tells of a value what is wrong with it.
  Setting = Struct.new(:users, :env, :fallback, :parse, :must, :check, keyword_init: true) do
    def self.whole(low, high)
      {
        parse: ->(text) { Integer(text, 10) }, must: "be a whole number from #{low} to #{high}",
        check: ->(value) { value.is_a?(Integer) && value.between?(low, high) }
      }
    end

    def self.seconds(low, high)
      {
        parse: ->(text) { Float(text) / 1000 }, must: "be a number of seconds from #{low} to #{high}",
        check: ->(value) { value.is_a?(Numeric) && value.real? && value.between?(low, high) }
      }
    end

    def self.text(must, &check) = { parse: :itself.to_proc, must: must, check: check }
  end
end
