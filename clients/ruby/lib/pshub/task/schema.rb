# frozen_string_literal: true

require "json"
require_relative "../wire/errors"
require_relative "../wire/payload"
require_relative "schema_check"
require_relative "schema_keywords"
require_relative "schema_reading"

module Pshub
  # JSON Schema, draft 2020-12. Keywords that the draft does not know are notes, as it says.
  class Schema
    # Bounds for schemas of the registry, which are somebody else's data.
    FOREIGN_CHARS = 65_536
    FOREIGN_DEPTH = 32
    FOREIGN_NODES = 2000

    # Why a schema cannot be used.
    class Unusable < StandardError; end

    # A task's own schema. Raises ConfigError when it cannot be used; +what+ names it.
    def self.own(schema, what)
      raise Unusable, "it must be an object" unless schema.is_a?(Hash)

      new(JSON.parse(Payload.encode(schema)))
    rescue Unusable, Payload::Problem => e
      raise ConfigError, "#{what} is not a valid JSON Schema (2020-12): #{e.message}"
    end

    # A schema of the registry. Nothing here can stop a check that runs long, so one whose check could do so is not used at all.
    # Raises Unusable.
    def self.foreign(schema)
      raise Unusable, "it must be an object" unless schema.is_a?(Hash)

      text = Payload.compact(schema)
      raise Unusable, "it is longer than #{FOREIGN_CHARS} characters" if text.length > FOREIGN_CHARS
      raise Unusable, "it has a key named __proto__" if text.include?('"__proto__":')

      Survey.new.walk(schema, 1, false)
      new(schema)
    rescue JSON::NestingError
      raise Unusable, "it is nested deeper than #{FOREIGN_DEPTH} levels"
    rescue JSON::JSONError, EncodingError
      raise Unusable, "it has a text that is not UTF-8"
    end

    attr_reader :json

    # Raises Unusable.
    def initialize(schema)
      @json = schema
      @check = SchemaCheck.new(SchemaReading.new(schema))
    rescue SchemaReading::Problem => e
      raise Unusable, e.message
    end

    # What does not fit, as {"pointer", "message"}; empty when all does.
    def problems(value) = @check.problems(value)

    # Walks a schema of the registry as data. Raises Unusable beyond the bounds, and where a check could run long.
    class Survey
      def initialize = @nodes = 0

      def walk(value, depth, in_names)
        return unless value.is_a?(Hash) || value.is_a?(Array)
        raise Unusable, "it has more than #{FOREIGN_NODES} nodes" if (@nodes += 1) > FOREIGN_NODES
        raise Unusable, "it is nested deeper than #{FOREIGN_DEPTH} levels" if depth > FOREIGN_DEPTH
        return value.each { |inner| walk(inner, depth + 1, false) } if value.is_a?(Array)

        value.each do |key, inner|
          refuse_costly(key, inner) unless in_names
          walk(inner, depth + 1, !in_names && SchemaKeywords::NAMED.include?(key))
        end
      end

      private

      def refuse_costly(keyword, value)
        raise Unusable, "it has a $ref, which cannot be resolved here" if keyword == "$ref"
        raise Unusable, "uniqueItems compares every pair of items" if keyword == "uniqueItems" && value == true

        patterns = { "pattern" => [value], "patternProperties" => value.is_a?(Hash) ? value.keys : [] }.fetch(keyword, [])
        raise Unusable, "it has a pattern that may be too slow" unless patterns.all? { |pattern| tame?(pattern) }
      end

      # True for a pattern whose matching is at worst quadratic: no groups, alternatives or back references, two quantifiers.
      def tame?(pattern)
        return false if !pattern.is_a?(String) || pattern.length > 200 || pattern.match?(/[(|]|\\[0-9k]/)

        pattern.scan(/[*+?]|\{[0-9]+,[0-9]*\}/).size + (pattern.start_with?("^") ? 0 : 1) <= 2
      end
    end
    private_constant :Survey
  end
end
