# frozen_string_literal: true

require_relative "helper"

class TestSchema < Minitest::Test
  def problems(schema, value) = Pshub::Schema.own(schema, "x").problems(value)

  def pointers(schema, value) = problems(schema, value).map { |each| each["pointer"] }

  def test_each_field_is_named
    schema = { type: "object", properties: { x: { type: "integer" } }, required: %w[x y], additionalProperties: false }
    assert_equal ["/x", "/y", "/z"], pointers(schema, { "x" => "1", "z" => 1 }).sort
    assert_empty pointers({ **schema, required: [] }, { "x" => 1.0 })
  end

  def test_what_fits_none_of_several_is_told_by_those_of_its_type
    date = { type: "string", format: "date" }
    spot = { type: "object", required: ["at"] }
    cases = [
      [[date, { type: "null" }], "x", { "" => "must match format date" }],
      [[date, { type: "null" }], 5, { "" => "must be string or null" }],
      [[spot, { type: "null" }], {}, { "" => "fits none of what it may be", "/at" => "is required" }],
      [[spot, { type: "object", required: ["id"] }], {}, { "" => "fits none of what it may be: /at is required, or /id is required" }],
      [Array.new(9) { |n| { const: n } }, 10,
       { "" => "fits none of what it may be: must be 0, or must be 1, or must be 2, or must be 3, or must be 4, and 4 more" }]
    ]
    cases.each do |choice, value, told|
      %i[anyOf oneOf].each do |keyword|
        found = problems({ properties: { v: { keyword => choice } } }, { "v" => value })
        assert_equal told, found.to_h { |each| [each["pointer"].delete_prefix("/v"), each["message"]] }
      end
    end
    assert_equal ["fits more than one of what it may be"], problems({ oneOf: [{}, {}] }, 1).map { |each| each["message"] }
  end

  # Schema, values that fit, values that do not.
  CASES = [
    [{ type: %w[string null] }, ["a", nil], [1, [], false]],
    [{ type: "number" }, [1, 1.5], ["1", true]],
    [{ type: "integer" }, [1, 2.0, 2**80], [1.5, "1", true]],
    [{ type: "boolean" }, [true, false], [nil, 0]],
    [{ enum: [1, "a", [1, 2], { a: 1 }] }, [1, 1.0, "a", [1, 2], { "a" => 1 }], [2, "b", [2, 1], { "a" => 2 }, true]],
    [{ const: { a: [] } }, [{ "a" => [] }], [{ "a" => {} }, nil]],
    [{ minimum: 1, maximum: 3 }, [1, 2.5, 3, "x"], [0, 3.1]],
    [{ exclusiveMinimum: 1, exclusiveMaximum: 3 }, [2], [1, 3]],
    [{ multipleOf: 0.1 }, [0.3, 1, 0], [0.35]],
    [{ multipleOf: 3 }, [9, 9.0], [10, Float::INFINITY]],
    [{ minLength: 1, maxLength: 2 }, %w[a éé], ["", "abc"]],
    [{ pattern: "^a+$" }, %w[a aaa], %W[b a\nb a\n]],
    [{ pattern: "[$^]" }, ["a$", "^"], ["a"]],
    [{ items: { type: "integer" }, minItems: 1, maxItems: 2, uniqueItems: true }, [[1], [1, 2]], [[], [1, 2, 3], [1, 1.0], ["a"]]],
    [{ prefixItems: [{ type: "string" }], items: false }, [["a"], []], [[1], ["a", 1]]],
    [{ contains: { const: 1 }, minContains: 2, maxContains: 3 }, [[1, 1, 0]], [[1], [1, 1, 1, 1]]],
    [{ patternProperties: { "^n" => { type: "integer" } }, additionalProperties: { type: "string" } },
     [{ "n1" => 1, "x" => "a" }], [{ "n1" => "a" }, { "x" => 1 }]],
    [{ propertyNames: { maxLength: 2 }, minProperties: 1, maxProperties: 2 }, [{ "ab" => 1 }], [{}, { "abc" => 1 }]],
    [{ dependentRequired: { a: ["b"] }, dependentSchemas: { c: { required: ["d"] } } },
     [{}, { "a" => 1, "b" => 1 }], [{ "a" => 1 }, { "c" => 1 }]],
    [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1, 2], [0, 3]],
    [{ anyOf: [{ type: "string" }, { minimum: 5 }] }, ["a", 5], [4]],
    [{ oneOf: [{ minimum: 1 }, { maximum: 3 }] }, [0, 4], [2]],
    [{ not: { type: "null" } }, [1], [nil]],
    [{ if: { type: "string" }, then: { minLength: 2 }, else: { type: "integer" } }, ["ab", 1], ["a", 1.5]],
    [{ "$defs" => { tree: { type: "object", properties: { next: { "$ref" => "#/$defs/tree" } }, additionalProperties: false } },
       "$ref" => "#/$defs/tree" }, [{}, { "next" => { "next" => {} } }], [1, { "next" => { "x" => 1 } }]]
  ].freeze

  def test_keywords
    CASES.each do |schema, fitting, others|
      fitting.each { |value| assert_empty problems(schema, value), "#{value.inspect} fits #{schema}" }
      others.each { |value| refute_empty problems(schema, value), "#{value.inspect} does not fit #{schema}" }
    end
  end

  def test_what_cannot_be_checked_is_refused_when_it_is_declared
    [
      { unevaluatedProperties: false }, { type: "text" }, { properties: [] }, { required: "x" }, { pattern: "(" }, { minimum: "1" },
      { "$ref" => "https://example.com/schema" }, { "$ref" => "#/nowhere" }, { anyOf: [1] }, "string"
    ].each do |schema|
      assert_raises(Pshub::ConfigError, schema.inspect) { Pshub.const_get(:Task).new("a:1.0", schema, nil, "", 5, false, -> {}) }
    end
  end

  def test_schemas_of_others_are_bounded
    deep = 40.times.reduce({}) { |inner, _| { "items" => inner } }
    wide = { "anyOf" => Array.new(2100) { {} } }
    long = { "const" => "x" * 70_000 }
    slow = [{ "pattern" => "(a+)+$" }, { "patternProperties" => { "a*b*c*" => true } }, { "uniqueItems" => true }]
    [deep, wide, long, *slow, { "$ref" => "#" }].each do |schema|
      assert_raises(Pshub::Schema::Unusable, schema.inspect[0, 80]) { Pshub::Schema.foreign(schema) }
    end
    assert_empty Pshub::Schema.foreign({ "pattern" => "^[a-z]+$" }).problems("abc")
  end

  def test_what_a_reference_leads_to_is_looked_at_wherever_it_is
    schema = { "x-parts" => { a: { pattern: "^a$" } }, "$ref" => "#/x-parts/a" }
    assert_empty problems(schema, "a")
    refute_empty problems(schema, "b")
    assert_raises(Pshub::ConfigError) { problems({ "x-parts" => { a: { unevaluatedItems: false } }, "$ref" => "#/x-parts/a" }, 1) }
  end
end
