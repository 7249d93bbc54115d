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
      [[spot, { type: "null" }], {}, { "" => "matches none of the alternatives", "/at" => "is required" }],
      [[spot, { type: "object", required: ["id"] }], {}, { "" => "matches none of the alternatives: /at is required, or /id is required" }],
      [Array.new(9) { |n| { const: n } }, 10,
       { "" => "matches none of the alternatives: must be 0, or must be 1, or must be 2, or must be 3, or must be 4, and 4 more" }]
    ]
    cases.each do |choice, value, told|
      %i[anyOf oneOf].each do |keyword|
        found = problems({ properties: { v: { keyword => choice } } }, { "v" => value })
        assert_equal told, found.to_h { |each| [each["pointer"].delete_prefix("/v"), each["message"]] }
      end
    end
    assert_equal ["matches more than one of the alternatives"], problems({ oneOf: [{}, {}] }, 1).map { |each| each["message"] }
  end

  def test_says_in_words_what_is_wrong
    [
      [{ minLength: 1 }, "", "must have at least 1 character"], [{ maxLength: 2 }, "abc", "must have at most 2 characters"],
      [{ minItems: 2 }, [], "must have at least 2 items"], [{ maxItems: 1 }, [1, 2], "must have at most 1 item"],
      [{ minProperties: 1 }, {}, "must have at least 1 field"], [{ uniqueItems: true }, [1, 1], "has the same item twice"],
      [{ contains: { const: 1 }, maxContains: 2 }, [1, 1, 1], "must contain at most 2 matching items"],
      [{ not: { type: "string" } }, "a", "is not allowed"]
    ].each { |schema, value, message| assert_equal [message], problems(schema, value).map { |each| each["message"] } }
  end

  def test_what_cannot_be_checked_is_refused_when_it_is_declared
    [
      { type: "text" }, { properties: [] }, { required: "x" }, { pattern: "(" }, { minimum: "1" },
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
end
