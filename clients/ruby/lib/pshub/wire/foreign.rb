# frozen_string_literal: true

require "json"
require_relative "payload"
require_relative "times"

module Pshub
  # What is in Redis was written by others, and may be anything. Readers of the registry take out of it, by these checks, what they
  # know and nothing else; so what a stranger adds costs nobody anything. PROTOCOL.md, section 11.
  module Foreign
    # A record that cannot be read counts as absent.
    class Unreadable < StandardError; end

    # Longest card of a task, and longest of all other records, in characters. No worker writes longer ones.
    MAX_CARD = 262_144
    MAX_RECORD = 1_048_576
    MAX_NESTING = 1024
    # As many as nobody counts; what a stranger writes must not make sums lose their precision.
    MAX_COUNT = 2**40
    # Longer than any valid name, so that a name that is not valid can be shown as it is.
    MAX_NAME = 256

    module_function

    # Raises Unreadable for what is no JSON object, too long or nested too deeply.
    def object(raw, max_length)
      text = Payload.utf8(raw).scrub
      raise Unreadable, "it is longer than #{max_length} characters" if text.length > max_length

      value = JSON.parse(text, max_nesting: MAX_NESTING, create_additions: false)
      value.is_a?(Hash) ? value : raise(Unreadable, "it is not a JSON object")
    rescue JSON::NestingError
      raise Unreadable, "it is nested deeper than #{MAX_NESTING} levels"
    rescue JSON::JSONError, EncodingError
      raise Unreadable, "it is not JSON"
    end

    # A number of something that can be measured. Ruby reads 1e400 as infinity.
    def amount?(value, most = Float::MAX) = value.is_a?(Numeric) && !Times.duration?(value) && value >= 0 && value <= most

    # A number of things.
    def count?(value, most = MAX_COUNT) = amount?(value, most) && Payload.whole?(value)

    # What is no text counts as an empty one, and a longer one is cut.
    def text(value, max_length) = value.is_a?(String) ? value.scrub[0, max_length] : ""

    # A name that keys and lists are made of. Raises Unreadable.
    def name(record, member)
      value = record[member]
      return value if value.is_a?(String) && value.valid_encoding? && value.length.between?(1, MAX_NAME)

      raise Unreadable, "its #{member} is not a string of 1 to #{MAX_NAME} characters"
    end
  end
end
