# frozen_string_literal: true

require "json"
require_relative "../wire/errors"
require_relative "../wire/payload"
require_relative "local_references"
require_relative "older_drafts"
require_relative "pattern"
require_relative "schema_check"

module Pshub
  # JSON Schema, draft 2020-12, without what it lists as unsupported: a schema with such a keyword is refused when a task is
  # declared, so that nothing passes unchecked by mistake. Keywords that the draft does not know are notes, as it says.
  class Schema
    # Bounds for schemas of the registry, which are somebody else's data.
    FOREIGN_CHARS = 65_536
    FOREIGN_DEPTH = 32
    FOREIGN_NODES = 2000

    # Of this draft, and not checked here.
    UNSUPPORTED = %w[unevaluatedProperties unevaluatedItems $dynamicRef $dynamicAnchor].freeze
    # What each plain keyword must be given.
    PLAIN = {
      "type" => ->(v) { [v].flatten.all? { |name| SchemaCheck::TYPES.key?(name) } },
      "enum" => ->(v) { v.is_a?(Array) },
      "const" => ->(_) { true },
      "required" => ->(v) { v.is_a?(Array) && v.all?(String) },
      "dependentRequired" => ->(v) { v.is_a?(Hash) && v.values.all? { |names| names.is_a?(Array) && names.all?(String) } },
      "uniqueItems" => ->(v) { [true, false].include?(v) },
      "pattern" => ->(v) { v.is_a?(String) },
      "format" => ->(v) { v.is_a?(String) },
      "$anchor" => ->(v) { v.is_a?(String) },
      "$id" => ->(v) { v.is_a?(String) },
      "multipleOf" => ->(v) { v.is_a?(Numeric) && v.positive? },
      "$ref" => ->(v) { v.is_a?(String) },
      **%w[minimum maximum exclusiveMinimum exclusiveMaximum].to_h { |name| [name, ->(v) { v.is_a?(Numeric) }] },
      **%w[
        minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains
      ].to_h { |name| [name, ->(v) { v.is_a?(Numeric) && v >= 0 && v == v.to_i }] }
    }.freeze

    # Why a schema cannot be used.
    class Unusable < StandardError; end

    # A task's own schema. Raises ConfigError when it cannot be used; +what+ names it.
    def self.own(schema, what)
      raise Unusable, "it must be an object" unless schema.is_a?(Hash)

      new(JSON.parse(Payload.encode(schema)))
    rescue Unusable, Payload::Problem => e
      raise ConfigError, "#{what} cannot be used as a JSON Schema (2020-12): #{e.message}"
    end

    # A schema of the registry. Nothing here can stop a check that runs long, so one whose check could do so is not used at all.
    # Raises Unusable.
    def self.foreign(schema)
      raise Unusable, "it must be an object" unless schema.is_a?(Hash)

      text = Payload.compact(schema)
      raise Unusable, "it is longer than #{FOREIGN_CHARS} characters" if text.length > FOREIGN_CHARS
      raise Unusable, "it has a key named __proto__" if text.include?('"__proto__":')

      new(schema, foreign: true)
    rescue JSON::NestingError
      raise Unusable, "it is nested deeper than #{FOREIGN_DEPTH} levels"
    rescue JSON::JSONError, EncodingError
      raise Unusable, "it has a text that is not UTF-8"
    end

    attr_reader :json

    def initialize(schema, foreign: false)
      @json = schema
      @foreign = foreign
      @patterns = {}
      @nodes = 0
      @seen = {}.compare_by_identity
      @references = []
      @local = LocalReferences.of(schema)
      survey(@local, 1)
      # What references lead to may be in a place that no keyword knows. More of them may turn up there.
      @references.each { |reference| survey(resolve(reference), 2) }
      @check = SchemaCheck.new(@local, @patterns, method(:resolve))
      try_out
    end

    # What does not fit, as {"pointer", "message"}; empty when all does.
    def problems(value) = @check.problems(value)

    private

    # A reference that leads back to itself without going into the value is found with any value of the type that it is asked for.
    def try_out
      [nil, true, 0, "", [], {}].each { |value| @check.problems(value) }
    rescue Payload::Problem
      raise Unusable, "it refers to itself without end"
    end

    # Looks at the schema once, so that checking meets no surprise.
    def survey(schema, depth)
      return if [true, false].include?(schema) || @seen.key?(schema)
      raise Unusable, "a schema must be an object" unless schema.is_a?(Hash)

      @seen[schema] = true
      bound(depth)
      schema.each do |keyword, given|
        older = OlderDrafts.why(keyword, given)
        raise Unusable, older if older

        if LocalReferences::ONE.include?(keyword) then survey(given, depth + 1)
        elsif LocalReferences::LISTS.include?(keyword) then each_of(keyword, given, Array) { |inner| survey(inner, depth + 1) }
        elsif LocalReferences::NAMED.include?(keyword) then survey_named(keyword, given, depth)
        elsif UNSUPPORTED.include?(keyword) || (keyword == "$id" && depth > 1)
          raise Unusable, "it has the keyword #{keyword.inspect} in a place where this does not check it"
        elsif PLAIN.key?(keyword) then survey_plain(keyword, given)
        end
      end
    end

    def survey_named(keyword, given, depth)
      each_of(keyword, given, Hash) do |name, inner|
        keep_pattern(name) if keyword == "patternProperties"
        survey(inner, depth + 1)
      end
    end

    def survey_plain(keyword, given)
      raise Unusable, "#{keyword} is not what it must be" unless PLAIN[keyword].call(given)

      keep_pattern(given) if keyword == "pattern"
      @references << given if keyword == "$ref"
      raise Unusable, "uniqueItems compares each with each" if @foreign && keyword == "uniqueItems" && given
      raise Unusable, "it has a $ref, which may lead anywhere" if @foreign && keyword == "$ref"
    end

    def each_of(keyword, given, kind, &block)
      raise Unusable, "#{keyword} is not what it must be" unless given.is_a?(kind)

      given.each(&block)
    end

    def bound(depth)
      @nodes += 1
      return unless @foreign
      raise Unusable, "it has more than #{FOREIGN_NODES} nodes" if @nodes > FOREIGN_NODES
      raise Unusable, "it is nested deeper than #{FOREIGN_DEPTH} levels" if depth > FOREIGN_DEPTH
    end

    def keep_pattern(text)
      raise Unusable, "it has a pattern that may take long" if @foreign && !tame?(text)

      @patterns[text] ||= Pattern.regexp(text)
    rescue Pattern::Wrong, Pattern::Beyond => e
      raise Unusable, e.message
    end

    # True for a pattern whose matching is at worst quadratic: no groups, alternatives or back references, two quantifiers.
    def tame?(pattern)
      return false if !pattern.is_a?(String) || pattern.length > 200 || pattern.match?(/[(|]|\\[0-9k]/)

      pattern.scan(/[*+?]|\{[0-9]+,[0-9]*\}/).size + (pattern.start_with?("^") ? 0 : 1) <= 2
    end

    # Only within the schema itself: "#" or "#/$defs/name", as LocalReferences writes them.
    def resolve(reference)
      raise Unusable, "$ref #{reference.inspect} leads out of it" unless reference.start_with?("#")

      steps = reference.delete_prefix("#").gsub(/(?:%\h\h)+/) { |escaped| [escaped.delete("%")].pack("H*").force_encoding("UTF-8") }
      found = walk(steps.split("/", -1).drop(1)) if steps.empty? || steps.start_with?("/")
      raise Unusable, "$ref #{reference.inspect} leads nowhere" unless found.is_a?(Hash) || [true, false].include?(found)

      found
    end

    def walk(steps)
      steps.reduce(@local) do |place, step|
        step = step.gsub("~1", "/").gsub("~0", "~")
        place.is_a?(Array) ? (place[step.to_i] if step.match?(/\A(0|[1-9][0-9]*)\z/)) : (place[step] if place.is_a?(Hash))
      end
    end
  end
end
