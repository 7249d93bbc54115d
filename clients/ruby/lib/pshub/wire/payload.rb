# frozen_string_literal: true

require "json"
require_relative "errors"

module Pshub
  # Arguments and results as JSON text, with the limits of PROTOCOL.md, section 4.
  module Payload
    # Deepest nesting of arrays and hashes in arguments and results.
    MAX_DEPTH = 64
    TOO_DEEP = "nested deeper than #{MAX_DEPTH} levels"
    STRINGS = /"(?:[^"\\]|\\.)*"/m

    # A value that cannot travel as JSON.
    class Problem < StandardError
      attr_reader :problem

      def initialize(message, pointer = "")
        super(message)
        @problem = { "pointer" => pointer, "message" => message }
      end
    end

    module_function

    # +value+ as JSON text: nil, true, false, numbers, strings, symbols (as strings), arrays and hashes. Raises Problem.
    def encode(value)
      check_outgoing(value, 0, "")
      JSON.generate(value, max_nesting: MAX_DEPTH)
    rescue JSON::NestingError
      raise Problem, TOO_DEEP
    rescue JSON::JSONError, EncodingError => e
      raise Problem, "not JSON: #{Errors.message_of(e).lines.first.to_s[0, 200].chomp}"
    end

    # Parses JSON text of somebody else's, with the same limits and one level for the message around them. Raises Problem.
    def decode(text)
      value = parse(text)
      # Escapes can spell the key in other ways, so any sign of one sends the value through the slow check.
      check_incoming(value, "") if text.include?("__proto__") || text.include?("\\u")
      value
    end

    # Whether the text is longer as UTF-8.
    def exceeds?(text, max_bytes) = text.bytesize > max_bytes

    # JSON text of what this package itself made.
    def compact(value) = JSON.generate(value)

    # One step of a JSON Pointer (RFC 6901).
    def escape(key) = key.to_s.gsub("~", "~0").gsub("/", "~1")

    # A number without a fraction, however it was written.
    def whole?(value) = value.is_a?(Integer) || (value.is_a?(Float) && value.finite? && value == value.to_i)

    # A text that came from Redis, as UTF-8 whatever this process's own encoding is.
    def utf8(text)
      text.encoding == Encoding::UTF_8 ? text : text.dup.force_encoding(Encoding::UTF_8)
    end

    def parse(text)
      raise Problem, "not UTF-8" unless text.valid_encoding?
      # Ruby's parser passes over comments and a byte order mark, which nobody else does.
      raise Problem, "not JSON" if text.start_with?("\ufeff") || (text.include?("/") && text.gsub(STRINGS, "").include?("/"))

      JSON.parse(text, max_nesting: MAX_DEPTH + 1, create_additions: false)
    rescue JSON::NestingError
      raise Problem, TOO_DEEP
    rescue JSON::ParserError, EncodingError
      raise Problem, "not JSON"
    end

    # JSON.generate would write any object as what its to_s says; this refuses it.
    def check_outgoing(value, depth, pointer)
      case value
      when String then check_text(value, pointer)
      when Symbol, Integer, nil, true, false then nil
      when Float
        raise Problem.new("#{value} is not JSON", pointer) unless value.finite?
      when Hash
        raise Problem, TOO_DEEP if depth == MAX_DEPTH

        value.each { |key, inner| check_outgoing(inner, depth + 1, checked_key(key, pointer)) }
        check_unlike(value.keys, pointer)
      when Array
        raise Problem, TOO_DEEP if depth == MAX_DEPTH

        value.each_with_index { |inner, index| check_outgoing(inner, depth + 1, "#{pointer}/#{index}") }
      else
        raise Problem.new("not JSON: a #{value.class}", pointer)
      end
    end

    def checked_key(key, pointer)
      at = "#{pointer}/#{escape(key)}"
      raise Problem.new("not JSON: a key that is a #{key.class}", pointer) unless key.is_a?(String) || key.is_a?(Symbol)
      raise Problem.new("a key named __proto__ is not allowed", at) if key.to_s == "__proto__"

      check_text(key, at) if key.is_a?(String)
      at
    end

    # As texts two keys may be one, and JSON.generate writes both; readers keep the last.
    def check_unlike(keys, pointer)
      return unless keys.any?(Symbol) && keys.any?(String)

      twice = keys.map(&:to_s).tally.key(2)
      raise Problem.new("a key appears twice, as a String and as a Symbol", "#{pointer}/#{escape(twice)}") if twice
    end

    def check_text(text, pointer)
      fits = text.valid_encoding? && (text.encoding != Encoding::BINARY || text.ascii_only?)
      raise Problem.new("not JSON: a text that is not UTF-8", pointer) unless fits
    end

    def check_incoming(value, pointer)
      case value
      when Hash
        value.each do |key, inner|
          at = "#{pointer}/#{escape(key.scrub)}"
          raise Problem.new("a key named __proto__ is not allowed", at) if key == "__proto__"

          check_incoming(key, at)
          check_incoming(inner, at)
        end
      when Array then value.each_with_index { |inner, index| check_incoming(inner, "#{pointer}/#{index}") }
      when String
        # Ruby's strings cannot hold half of a surrogate pair.
        raise Problem.new("half of a surrogate pair is not valid UTF-8", pointer) unless value.valid_encoding?
      end
    end
  end
end
