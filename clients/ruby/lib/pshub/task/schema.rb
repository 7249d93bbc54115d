# frozen_string_literal: true

module Pshub
  # JSON Schema, draft 2020-12, without what it lists as unsupported: a schema with such a keyword is refused when a task is
  # declared, so that nothing passes unchecked by mistake.
  class Schema
    MAX_PROBLEMS = 50
    # Bounds for schemas of the registry, which are somebody else's data.
    FOREIGN_CHARS = 65_536
    FOREIGN_DEPTH = 32
    FOREIGN_NODES = 2000

    TYPES = {
      "string" => ->(value) { value.is_a?(String) },
      "boolean" => ->(value) { [true, false].include?(value) },
      "null" => :nil?.to_proc,
      "number" => ->(value) { value.is_a?(Numeric) },
      "integer" => ->(value) { value.is_a?(Integer) || (value.is_a?(Float) && value.finite? && value == value.to_i) },
      "object" => ->(value) { value.is_a?(Hash) },
      "array" => ->(value) { value.is_a?(Array) }
    }.freeze
    IGNORED = %w[
      title description default examples deprecated readOnly writeOnly $schema $id $comment $defs definitions format
      contentEncoding contentMediaType contentSchema
    ].freeze
    # Keywords whose values are schemas: one, a list of them, or a hash of them by name.
    ONE = %w[additionalProperties propertyNames items contains not if then else].freeze
    LISTS = %w[prefixItems allOf anyOf oneOf].freeze
    NAMED = %w[properties patternProperties dependentSchemas $defs definitions].freeze
    # What each plain keyword must be given.
    PLAIN = {
      "type" => ->(v) { [v].flatten.all? { |name| TYPES.key?(name) } },
      "enum" => ->(v) { v.is_a?(Array) },
      "const" => ->(_) { true },
      "required" => ->(v) { v.is_a?(Array) && v.all?(String) },
      "dependentRequired" => ->(v) { v.is_a?(Hash) && v.values.all? { |names| names.is_a?(Array) && names.all?(String) } },
      "uniqueItems" => ->(v) { [true, false].include?(v) },
      "pattern" => ->(v) { Schema.pattern(v) },
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
      new(JSON.parse(Payload.encode(schema)))
    rescue Unusable, Payload::Problem => e
      raise ConfigError, "#{what} cannot be used as a JSON Schema (2020-12): #{e.message}"
    end

    # A schema of the registry. Nothing here can stop a check that runs long, so one whose check could do so is not used at all.
    # Raises Unusable.
    def self.foreign(schema)
      raise Unusable, "it is longer than #{FOREIGN_CHARS} characters" if Payload.compact(schema).length > FOREIGN_CHARS

      new(schema, foreign: true)
    rescue JSON::NestingError
      raise Unusable, "it is nested deeper than #{FOREIGN_DEPTH} levels"
    rescue JSON::JSONError, EncodingError
      raise Unusable, "it has a text that is not UTF-8"
    end

    # Ruby's ^ and $ are the ends of lines; those of JSON Schema are the ends of the text.
    def self.pattern(text)
      raise Unusable, "a pattern must be a text" unless text.is_a?(String)

      in_class = false
      ruby = text.gsub(/\\.|[\[\]^$]/m) do |part|
        in_class = part == "[" || (in_class && part != "]")
        next part if in_class || part.length > 1

        { "^" => "\\A", "$" => "\\z" }.fetch(part, part)
      end
      Regexp.new(ruby)
    rescue RegexpError
      raise Unusable, "the pattern #{text[0, 80].inspect} cannot be read"
    end

    attr_reader :json

    def initialize(schema, foreign: false)
      @json = schema
      @foreign = foreign
      @patterns = {}
      @nodes = 0
      survey(schema, 1)
    end

    # What does not fit, as {"pointer", "message"}; empty when all does.
    def problems(value)
      found = []
      check(value, @json, "", found, 0)
      found.first(MAX_PROBLEMS)
    end

    private

    # Looks at the schema once, so that checking meets no surprise.
    def survey(schema, depth)
      return if [true, false].include?(schema)
      raise Unusable, "a schema must be an object" unless schema.is_a?(Hash)

      bound(depth)
      schema.each do |keyword, given|
        if ONE.include?(keyword) then survey(given, depth + 1)
        elsif LISTS.include?(keyword) then each_of(keyword, given, Array) { |inner| survey(inner, depth + 1) }
        elsif NAMED.include?(keyword) then survey_named(keyword, given, depth)
        elsif PLAIN.key?(keyword) then survey_plain(keyword, given)
        elsif !IGNORED.include?(keyword) then raise Unusable, "it has the keyword #{keyword.inspect}, which this does not check"
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
      resolve(given) if keyword == "$ref"
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

      @patterns[text] ||= Schema.pattern(text)
    end

    # True for a pattern whose matching is at worst quadratic: no groups, alternatives or back references, two quantifiers.
    def tame?(pattern)
      return false if !pattern.is_a?(String) || pattern.length > 200 || pattern.match?(/[(|]|\\[0-9k]/)

      pattern.scan(/[*+?]|\{[0-9]+,[0-9]*\}/).size + (pattern.start_with?("^") ? 0 : 1) <= 2
    end

    # Only within the schema itself: "#" or "#/$defs/name".
    def resolve(reference)
      raise Unusable, "$ref #{reference.inspect} leads out of it" unless reference.match?(%r{\A#(/|\z)})

      found = reference.delete_prefix("#").split("/").drop(1).reduce(@json) do |place, step|
        step = step.gsub("~1", "/").gsub("~0", "~")
        place.is_a?(Array) ? place[step.to_i] : (place[step] if place.is_a?(Hash))
      end
      raise Unusable, "$ref #{reference.inspect} leads nowhere" unless found.is_a?(Hash) || [true, false].include?(found)

      found
    end

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
      check_size(value.length, schema, "Length", "characters", pointer, found)
      pattern = schema["pattern"]
      tell(found, pointer, "must match pattern #{pattern}") if pattern && !@patterns[pattern].match?(value)
    end

    COMPARISONS = { "minimum" => :>=, "maximum" => :<=, "exclusiveMinimum" => :>, "exclusiveMaximum" => :< }.freeze

    def check_number(value, schema, pointer, found)
      COMPARISONS.each do |keyword, operator|
        limit = schema[keyword]
        tell(found, pointer, "must be #{operator} #{limit}") if limit && !value.public_send(operator, limit)
      end
      step = schema["multipleOf"]
      tell(found, pointer, "must be a multiple of #{step}") if step && !multiple?(value, step)
    end

    # 0.3 is a multiple of 0.1, whatever their binary fractions say.
    def multiple?(value, step)
      return (value % step).zero? if value.is_a?(Integer) && step.is_a?(Integer)

      quotient = value.fdiv(step)
      quotient.finite? && (quotient - quotient.round).abs < 1e-9 * [1, quotient.abs].max
    end

    def check_size(size, schema, suffix, things, pointer, found)
      least, most = schema["min#{suffix}"], schema["max#{suffix}"]
      tell(found, pointer, "must NOT have fewer than #{least} #{things}") if least && size < least
      tell(found, pointer, "must NOT have more than #{most} #{things}") if most && size > most
    end

    def check_array(value, schema, pointer, found, depth)
      check_size(value.size, schema, "Items", "items", pointer, found)
      tell(found, pointer, "must NOT have the same item twice") if schema["uniqueItems"] && twice?(value)
      first = schema["prefixItems"] || []
      value.each_with_index do |item, index|
        inner = index < first.size ? first[index] : schema.fetch("items", true)
        check(item, inner, "#{pointer}/#{index}", found, depth)
      end
      return unless schema.key?("contains")

      count = value.count { |item| fits?(item, schema["contains"], depth) }
      least, most = schema.fetch("minContains", 1), schema["maxContains"]
      tell(found, pointer, "must contain a fitting item") if count < least
      tell(found, pointer, "must NOT contain more than #{most} fitting items") if most && count > most
    end

    def twice?(items) = items.each_with_index.any? { |item, index| items.drop(index + 1).any? { |other| same?(item, other) } }

    def check_object(value, schema, pointer, found, depth)
      check_size(value.size, schema, "Properties", "properties", pointer, found)
      missing = (schema["required"] || []).reject { |name| value.key?(name) }
      (schema["dependentRequired"] || {}).each { |name, names| missing += names.reject { |n| value.key?(n) } if value.key?(name) }
      # The pointer names the offending field itself and not its parent.
      missing.uniq.each { |name| tell(found, "#{pointer}/#{Payload.escape(name)}", "is required") }
      value.each { |name, inner| check_field(name, inner, schema, "#{pointer}/#{Payload.escape(name)}", found, depth) }
      (schema["dependentSchemas"] || {}).each { |name, inner| check(value, inner, pointer, found, depth) if value.key?(name) }
    end

    def check_field(name, value, schema, pointer, found, depth)
      if schema.key?("propertyNames") && !fits?(name, schema["propertyNames"], depth)
        tell(found, pointer, "is not a fitting name")
      end
      declared = schema.dig("properties", name)
      patterned = (schema["patternProperties"] || {}).select { |pattern, _| @patterns[pattern].match?(name) }.values
      [declared, *patterned].compact.each { |inner| check(value, inner, pointer, found, depth) }
      return if !declared.nil? || !patterned.empty? || !schema.key?("additionalProperties")
      return tell(found, pointer, "is not a known field") if schema["additionalProperties"] == false

      check(value, schema["additionalProperties"], pointer, found, depth)
    end

    def check_combined(value, schema, pointer, found, depth)
      check(value, resolve(schema["$ref"]), pointer, found, depth) if schema.key?("$ref")
      (schema["allOf"] || []).each { |inner| check(value, inner, pointer, found, depth) }
      any = schema["anyOf"]
      tell(found, pointer, "fails 'anyOf'") if any && any.none? { |inner| fits?(value, inner, depth) }
      one = schema["oneOf"]
      tell(found, pointer, "fails 'oneOf'") if one && one.count { |inner| fits?(value, inner, depth) } != 1
      tell(found, pointer, "fails 'not'") if schema.key?("not") && fits?(value, schema["not"], depth)
      return unless schema.key?("if")

      check(value, schema.fetch(fits?(value, schema["if"], depth) ? "then" : "else", true), pointer, found, depth)
    end
  end
end
