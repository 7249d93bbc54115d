# frozen_string_literal: true

require_relative "formats"

module Pshub
  # What may stand under each keyword (PROTOCOL.md, section 9.3). The clients of all languages have this table, with the same words: a
  # schema is rejected by all of them or by none, and no validator is ever given a keyword that it alone knows.
  module SchemaKeywords
    # Keywords whose values are one schema, lists of schemas, and schemas by name.
    ONE = %w[
      items additionalProperties not if then else contains propertyNames unevaluatedItems unevaluatedProperties
    ].freeze
    LISTS = %w[allOf anyOf oneOf prefixItems].freeze
    NAMED = %w[properties patternProperties $defs definitions dependentSchemas].freeze

    TYPES = %w[string number integer boolean object array null].freeze
    DRAFT = %r{\Ahttps?://json-schema\.org/(draft-0[467]/schema|draft/(2019-09|2020-12)/schema)#?\z}
    # Drafts in which a reference hides what stands beside it.
    HIDES_BESIDE = %r{\Ahttps?://json-schema\.org/draft-0[467]/}

    # What is wrong with this keyword of a schema, and what to write instead; nil: nothing, or nobody knows the keyword.
    def self.wrong(keyword, value)
      words = RULES[keyword]&.call(value)
      words && value.is_a?(Hash) && value.key?("$data") ? "#{words}; '$data' is an extension of ajv" : words
    end

    def self.must(words, &test) = ->(value) { "must be #{words}" unless test.call(value) }
    def self.never(words) = ->(_) { words }
    def self.number?(value) = value.is_a?(Numeric) && value.to_f.finite?
    def self.boolean?(value) = [true, false].include?(value)
    def self.names?(value) = value.is_a?(Array) && value.all?(String) && value.uniq.size == value.size

    def self.wrong_type(value)
      return if TYPES.include?(value) || (names?(value) && !value.empty? && (value - TYPES).empty?)

      advice = "; leave 'type' out to allow any value" if value == "any"
      advice = "; use 'anyOf' for a choice of schemas" if value.is_a?(Array) && value.any?(Hash)
      "must be one of #{TYPES.join(', ')}, or a list of different ones#{advice}"
    end

    def self.wrong_required(value)
      return if names?(value)

      "must be a list of different names#{"; name the field under the 'required' of the object that has it" if boolean?(value)}"
    end

    def self.wrong_id(value)
      return "must not begin with #; use '$anchor', without the #" if value.is_a?(String) && value.start_with?("#")

      "must be a URI reference (RFC 3986)" unless value.is_a?(String) && Formats.fits?("uri-reference", value)
    end

    ANYTHING = ->(_) {}
    TEXT = must("a string") { |value| value.is_a?(String) }
    BOOLEAN = must("true or false") { |value| boolean?(value) }
    NUMBER = must("a number") { |value| number?(value) }
    COUNT = must("a whole number of at least 0") { |value| number?(value) && value >= 0 && value == value.to_i }
    # A bound was true or false in draft 4.
    EXCLUSIVE = ->(plain) { must("a number; instead of true, pass the number of '#{plain}'") { |value| number?(value) } }
    SCHEMAS = must("a list of at least one schema") { |value| value.is_a?(Array) && !value.empty? }

    CHECKS = {
      **ONE.to_h { |name| [name, ANYTHING] },
      "items" => lambda do |value|
        "must be one schema; use 'prefixItems' for a list, and 'items' for what follows" if value.is_a?(Array)
      end,
      **LISTS.to_h { |name| [name, SCHEMAS] },
      **NAMED.to_h { |name| [name, must("an object of schemas") { |value| value.is_a?(Hash) }] },
      "type" => method(:wrong_type),
      "enum" => must("a list of at least one value") { |value| value.is_a?(Array) && !value.empty? },
      "const" => ANYTHING,
      "required" => method(:wrong_required),
      "dependentRequired" => must("an object of lists of different names") { |value| value.is_a?(Hash) && value.values.all? { |each| names?(each) } },
      "minimum" => NUMBER,
      "maximum" => NUMBER,
      "exclusiveMinimum" => EXCLUSIVE.call("minimum"),
      "exclusiveMaximum" => EXCLUSIVE.call("maximum"),
      "multipleOf" => must("a number above 0") { |value| number?(value) && value.positive? },
      "uniqueItems" => BOOLEAN,
      "pattern" => TEXT,
      "format" => TEXT,
      "$ref" => TEXT,
      **%w[Length Items Properties Contains].flat_map { |name| [["min#{name}", COUNT], ["max#{name}", COUNT]] }.to_h
    }.freeze

    NOTES = {
      **%w[title description $comment contentEncoding contentMediaType $anchor $dynamicAnchor].to_h { |name| [name, TEXT] },
      **%w[deprecated readOnly writeOnly].to_h { |name| [name, BOOLEAN] },
      "examples" => must("a list") { |value| value.is_a?(Array) },
      "$id" => method(:wrong_id),
      "$schema" => must(
        "the address of draft 4, 6, 7, 2019-09 or 2020-12; leave it out, or write https://json-schema.org/draft/2020-12/schema"
      ) { |value| value.is_a?(String) && DRAFT.match?(value) }
    }.freeze

    # What some validator understands, or an older draft did: it would hold in one language, and say nothing in another.
    REFUSED = {
      "$async" => never("is an extension of ajv; leave it out, and run slow checks in the handler"),
      "$dynamicRef" => never("is not supported; use '$ref'"),
      "$recursiveRef" => never("is not supported; use '$ref'"),
      "dependencies" => never("is of an older draft; use 'dependentRequired' or 'dependentSchemas'"),
      "divisibleBy" => never("is of an older draft; use 'multipleOf'"),
      "extends" => never("is of an older draft; use 'allOf'"),
      "disallow" => never("is of an older draft; use 'not'"),
      "nullable" => ->(value) { "is of OpenAPI 3.0; add \"null\" to 'type', or to 'anyOf'" if value == true }
    }.freeze

    RULES = { **CHECKS, **NOTES, **REFUSED }.freeze
  end
end
