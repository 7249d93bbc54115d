# frozen_string_literal: true

require_relative "../wire/payload"
require_relative "formats"

module Pshub
  # Checks values against a schema that was read (SchemaReading), so that it meets no surprise.
  class SchemaCheck
    MAX_PROBLEMS = 50
    # Of a choice among more, the first are told.
    MOST_TOLD = 5
    TYPES = {
      "string" => ->(value) { value.is_a?(String) },
      "boolean" => ->(value) { [true, false].include?(value) },
      "null" => :nil?.to_proc,
      "number" => ->(value) { value.is_a?(Numeric) },
      "integer" => Payload.method(:whole?),
      "object" => ->(value) { value.is_a?(Hash) },
      "array" => ->(value) { value.is_a?(Array) }
    }.freeze
    COMPARISONS = { "minimum" => :>=, "maximum" => :<=, "exclusiveMinimum" => :>, "exclusiveMaximum" => :< }.freeze

    def initialize(read)
      @schema = read.schema
      @patterns = read.patterns
      @targets = read.targets
    end

    # What does not fit, as {"pointer", "message"}; empty when all does.
    def problems(value)
      found = []
      check(value, @schema, "", found, 0)
      found.first(MAX_PROBLEMS)
    end

    private

    def fits?(value, schema, depth) = [].tap { |found| check(value, schema, "", found, depth) }.empty?

    def tell(found, pointer, message) = found << { "pointer" => pointer, "message" => message }

    def check(value, schema, pointer, found, depth)
      return if schema == true || found.size >= MAX_PROBLEMS
      return tell(found, pointer, "is not allowed") if schema == false
      raise Payload::Problem, Payload::TOO_DEEP if depth > 4 * Payload::MAX_DEPTH

      check_any(value, schema, pointer, found)
      case value
      when String then check_text(value, schema, pointer, found)
      when Numeric then check_number(value, schema, pointer, found)
      when Array then check_array(value, schema, pointer, found, depth + 1)
      when Hash then check_object(value, schema, pointer, found, depth + 1)
      end
      check_combined(value, schema, pointer, found, depth + 1)
    end

    def check_any(value, schema, pointer, found)
      types = [schema["type"]].flatten.compact
      tell(found, pointer, "must be #{types.join(' or ')}") unless types.empty? || types.any? { |type| TYPES[type].call(value) }
      if schema.key?("enum") && schema["enum"].none? { |each| same?(each, value) }
        tell(found, pointer, "must be one of #{Payload.compact(schema['enum'])[1..-2][0, 200]}")
      end
      return unless schema.key?("const") && !same?(schema["const"], value)

      tell(found, pointer, "must be #{Payload.compact(schema['const'])[0, 200]}")
    end

    # As JSON sees it: 1 and 1.0 are the same number.
    def same?(one, other)
      return one == other if one.is_a?(Numeric) && other.is_a?(Numeric)
      return false unless one.instance_of?(other.class)
      return one.size == other.size && one.zip(other).all? { |a, b| same?(a, b) } if one.is_a?(Array)
      return one.size == other.size && one.all? { |key, a| other.key?(key) && same?(a, other[key]) } if one.is_a?(Hash)

      one == other
    end

    def check_text(value, schema, pointer, found)
      check_size(value.length, schema, "Length", "character", pointer, found)
      pattern = schema["pattern"]
      tell(found, pointer, "must match pattern #{pattern}") if pattern && !@patterns[pattern].match?(value)
      tell(found, pointer, "must match format #{schema['format']}") unless Formats.fits?(schema["format"], value)
    end

    def check_number(value, schema, pointer, found)
      COMPARISONS.each do |keyword, operator|
        limit = schema[keyword]
        tell(found, pointer, "must be #{operator} #{limit}") if limit && !value.public_send(operator, limit)
      end
      step = schema["multipleOf"]
      tell(found, pointer, "must be a multiple of #{step}") if step && !multiple?(value, step)
    end

    # Of the numbers as they are written: 0.3 is a multiple of 0.1, whatever their binary fractions say.
    def multiple?(value, step)
      value.finite? && (Rational(value.to_s) % Rational(step.to_s)).zero?
    end

    def several(count, thing) = "#{count} #{thing}#{'s' unless count == 1}"

    def check_size(size, schema, suffix, thing, pointer, found)
      least, most = schema["min#{suffix}"], schema["max#{suffix}"]
      tell(found, pointer, "must have at least #{several(least, thing)}") if least && size < least
      tell(found, pointer, "must have at most #{several(most, thing)}") if most && size > most
    end

    def check_array(value, schema, pointer, found, depth)
      check_size(value.size, schema, "Items", "item", pointer, found)
      tell(found, pointer, "has the same item twice") if schema["uniqueItems"] && twice?(value)
      first = schema["prefixItems"] || []
      value.each_with_index do |item, index|
        inner = index < first.size ? first[index] : schema.fetch("items", true)
        check(item, inner, "#{pointer}/#{index}", found, depth)
      end
      return unless schema.key?("contains")

      count = value.count { |item| fits?(item, schema["contains"], depth) }
      least, most = schema.fetch("minContains", 1), schema["maxContains"]
      tell(found, pointer, "must contain a matching item") if count < least
      tell(found, pointer, "must contain at most #{several(most, 'matching item')}") if most && count > most
    end

    def twice?(items) = items.each_with_index.any? { |item, index| items.drop(index + 1).any? { |other| same?(item, other) } }

    def check_object(value, schema, pointer, found, depth)
      check_size(value.size, schema, "Properties", "field", pointer, found)
      missing = (schema["required"] || []).reject { |name| value.key?(name) }
      (schema["dependentRequired"] || {}).each { |name, names| missing += names.reject { |n| value.key?(n) } if value.key?(name) }
      # The pointer names the offending field itself and not its parent.
      missing.uniq.each { |name| tell(found, "#{pointer}/#{Payload.escape(name)}", "is required") }
      value.each { |name, inner| check_field(name, inner, schema, "#{pointer}/#{Payload.escape(name)}", found, depth) }
      (schema["dependentSchemas"] || {}).each { |name, inner| check(value, inner, pointer, found, depth) if value.key?(name) }
    end

    def check_field(name, value, schema, pointer, found, depth)
      if schema.key?("propertyNames") && !fits?(name, schema["propertyNames"], depth)
        tell(found, pointer, "is not an allowed name")
      end
      declared = schema.dig("properties", name)
      patterned = (schema["patternProperties"] || {}).select { |pattern, _| @patterns[pattern].match?(name) }.values
      [declared, *patterned].compact.each { |inner| check(value, inner, pointer, found, depth) }
      return if !declared.nil? || !patterned.empty? || !schema.key?("additionalProperties")
      return tell(found, pointer, "is not a known field") if schema["additionalProperties"] == false

      check(value, schema["additionalProperties"], pointer, found, depth)
    end

    def check_one(value, choice, pointer, found, depth)
      fitting = choice.count { |inner| fits?(value, inner, depth) }
      tell(found, pointer, "matches more than one of the alternatives") if fitting > 1
      tell_choice(value, choice, pointer, found, depth) if fitting.zero?
    end

    # Of what fits none of several: what is wrong by those that are for a value of its type, if there are such.
    def tell_choice(value, choice, pointer, found, depth)
      types = choice.map { |inner| inner.is_a?(Hash) ? [inner["type"]].flatten.compact : [] }
      meant = choice.zip(types).filter_map { |inner, names| inner if names.empty? || names.any? { |name| TYPES[name].call(value) } }
      return tell(found, pointer, "must be #{types.flatten.uniq.join(' or ')}") if meant.empty?

      told = meant.first(MOST_TOLD).map { |inner| [].tap { |inside| check(value, inner, pointer, inside, depth) } }
      return tell_only(told.first, pointer, found) if meant.size == 1

      firsts = told.map { |inside| inside.first.values_at("pointer", "message") }
      words = firsts.map { |place, message| "#{place.delete_prefix(pointer)} #{message}".strip }.uniq.join(", or ")
      more = ", and #{meant.size - MOST_TOLD} more" if meant.size > MOST_TOLD
      tell(found, pointer, "matches none of the alternatives: #{words}#{more}")
    end

    def tell_only(inside, pointer, found)
      tell(found, pointer, "matches none of the alternatives") if inside.none? { |problem| problem["pointer"] == pointer }
      found.concat(inside)
    end

    def check_combined(value, schema, pointer, found, depth)
      check(value, @targets[schema], pointer, found, depth) if schema.key?("$ref")
      (schema["allOf"] || []).each { |inner| check(value, inner, pointer, found, depth) }
      any = schema["anyOf"]
      tell_choice(value, any, pointer, found, depth) if any&.none? { |inner| fits?(value, inner, depth) }
      check_one(value, schema["oneOf"], pointer, found, depth) if schema.key?("oneOf")
      tell(found, pointer, "is not allowed") if schema.key?("not") && fits?(value, schema["not"], depth)
      if schema.key?("if")
        check(value, schema.fetch(fits?(value, schema["if"], depth) ? "then" : "else", true), pointer, found, depth)
      end
      check_unevaluated(value, schema, pointer, found, depth)
    end

    def check_unevaluated(value, schema, pointer, found, depth)
      keyword, parts, word = unevaluated_of(value)
      return unless keyword && schema.key?(keyword)

      seen = {}
      return if look(value, schema, seen, depth, asking: true)

      parts.each do |name, inner|
        next if seen.key?(name)

        place = "#{pointer}/#{Payload.escape(name)}"
        schema[keyword] == false ? tell(found, place, "is not a known #{word}") : check(inner, schema[keyword], place, found, depth)
      end
    end

    def unevaluated_of(value)
      case value
      when Hash then ["unevaluatedProperties", value, "field"]
      when Array then ["unevaluatedItems", value.each_with_index.to_h { |item, index| [index, item] }, "item"]
      end
    end

    # Notes the names or places that a schema looks at; true: all of them. +asking+: its own keyword wants to know.
    def look(value, schema, seen, depth, asking: false)
      return false if [true, false].include?(schema)
      return true if schema.key?(value.is_a?(Hash) ? "additionalProperties" : "items")
      return true if !asking && schema.key?(unevaluated_of(value).first)

      value.is_a?(Hash) ? look_at_fields(value, schema, seen) : look_at_items(value, schema, seen, depth)
      beside(value, schema, depth).map { |inner| look(value, inner, seen, depth) }.any?
    end

    def look_at_fields(value, schema, seen)
      patterns = (schema["patternProperties"] || {}).keys
      value.each_key do |name|
        seen[name] = true if schema["properties"]&.key?(name) || patterns.any? { |pattern| @patterns[pattern].match?(name) }
      end
    end

    def look_at_items(value, schema, seen, depth)
      first = (schema["prefixItems"] || []).size
      value.each_with_index do |item, index|
        seen[index] = true if index < first || (schema.key?("contains") && fits?(item, schema["contains"], depth))
      end
    end

    # The schemas that look at the same value and count: of a choice those that fit.
    def beside(value, schema, depth)
      found = [*(schema.key?("$ref") ? [@targets[schema]] : []), *schema["allOf"]]
      found += [*schema["anyOf"], *schema["oneOf"]].select { |inner| fits?(value, inner, depth) }
      found += (schema["dependentSchemas"] || {}).select { |name, _| value.key?(name) }.values if value.is_a?(Hash)
      return found unless schema.key?("if")

      found + (fits?(value, schema["if"], depth) ? [schema["if"], schema.fetch("then", true)] : [schema.fetch("else", true)])
    end
  end
end
