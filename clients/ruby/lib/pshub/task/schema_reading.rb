# frozen_string_literal: true

require_relative "../wire/payload"
require_relative "formats"
require_relative "local_references"
require_relative "pattern"
require_relative "schema_keywords"

module Pshub
  # A schema as it is checked with: keywords that all languages check and nothing else, and what its references lead to.
  class SchemaReading
    # A schema is rejected: what is wrong with it, behind a pointer to that.
    class Problem < StandardError
      def initialize(pointer, words) = super("#{pointer.empty? ? 'it' : pointer} #{words}")
    end

    # Schemas under these keywords look at the same value.
    IN_PLACE = %w[allOf anyOf oneOf not if then else dependentSchemas].freeze
    # They may stand beside a reference that hides what is beside it.
    BESIDE = %w[$ref $defs definitions].freeze

    # The schema without notes, its patterns by their texts, and what each $ref leads to, by the schema that has it.
    attr_reader :schema, :patterns, :targets

    # Raises Problem.
    def initialize(schema)
      @local = LocalReferences.new(schema)
      @places = {}
      @references = []
      # Of a schema's pointer, the pointers of those that look at the same value.
      @same = Hash.new { |all, pointer| all[pointer] = [] }
      @patterns = {}
      @targets = {}.compare_by_identity
      @schema = schema_at(schema, LocalReferences::WHOLE, false)
      @references.each { |place, part| follow(place, part) }
      endless, = @references.find { |place, _| meets_itself?(place.pointer) }
      raise Problem.new("#{endless.pointer}/$ref", "refers to itself endlessly") if endless
    end

    private

    # +hides+: its draft passes over what is beside a reference.
    def schema_at(schema, outer, hides)
      return @places[outer.pointer] = schema if [true, false].include?(schema)
      raise Problem.new(outer.pointer, "must be a schema: an object, true or false") unless schema.is_a?(Hash)

      hides = SchemaKeywords::HIDES_BESIDE.match?(schema["$schema"]) if schema["$schema"].is_a?(String)
      place = @local.place_of(schema, outer)
      schema.each { |keyword, value| refuse(keyword, value, place) }
      part = @places[outer.pointer] = {}
      schema.each { |keyword, value| part[keyword] = under(keyword, value, place, hides) if checked?(keyword, value) }
      note_reference(place, part, hides) if part.key?("$ref")
      part
    end

    def refuse(keyword, value, place)
      wrong = SchemaKeywords.wrong(keyword, value)
      raise Problem.new(pointer_to(place, keyword), wrong) if wrong
    end

    def checked?(keyword, value)
      SchemaKeywords::CHECKS.key?(keyword) && (keyword != "format" || Formats.known?(value))
    end

    def note_reference(place, part, hides)
      hidden = part.keys.find { |keyword| !BESIDE.include?(keyword) } if hides
      if hidden
        raise Problem.new(
          pointer_to(place, "$ref"),
          "hides '#{hidden}' beside it in the draft that '$schema' names; put the '$ref' under 'allOf', or leave '$schema' out"
        )
      end
      @references << [place, part]
    end

    def under(keyword, value, place, hides)
      return inside(value, place, [keyword], hides) if SchemaKeywords::ONE.include?(keyword)

      if SchemaKeywords::LISTS.include?(keyword)
        return value.each_with_index.map { |inner, index| inside(inner, place, [keyword, index], hides) }
      end

      keep_pattern(value, pointer_to(place, keyword)) if keyword == "pattern"
      return value unless SchemaKeywords::NAMED.include?(keyword)

      value.each_key { |name| keep_pattern(name, pointer_to(place, keyword, name)) } if keyword == "patternProperties"
      value.to_h { |name, inner| [name, inside(inner, place, [keyword, name], hides)] }
    end

    def inside(inner, place, steps, hides)
      pointer = pointer_to(place, *steps)
      @same[place.pointer] << pointer if IN_PLACE.include?(steps.first)
      schema_at(inner, place.at(pointer), hides)
    end

    def keep_pattern(text, pointer)
      @patterns[text] ||= Pattern.regexp(text)
    rescue Pattern::Wrong
      raise Problem.new(pointer, "must be a regular expression of ECMA-262 with its flag u#{Pattern.advice(text)}")
    rescue Pattern::Beyond => e
      raise Problem.new(pointer, "cannot be checked by this client: #{e.message}")
    end

    def follow(place, part)
      pointer = @local.pointer_of(part["$ref"], place)
      unless @places.key?(pointer)
        raise Problem.new(pointer_to(place, "$ref"), "refers to no schema within this one; put the schema under '$defs'")
      end

      @same[place.pointer] << pointer
      @targets[part] = @places[pointer]
    end

    def meets_itself?(start)
      seen = {}
      waiting = @same[start].dup
      while (pointer = waiting.pop)
        return true if pointer == start
        next if seen.key?(pointer)

        seen[pointer] = true
        waiting.concat(@same[pointer])
      end
      false
    end

    def pointer_to(place, *steps) = [place.pointer, *steps.map { |step| Payload.escape(step.to_s) }].join("/")
  end
end
