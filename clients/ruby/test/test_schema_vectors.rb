# frozen_string_literal: true

require_relative "helper"

# What all languages say of the schemas in clients/vectors: those of the form, and schemas.json.
class TestSchemaVectors < Minitest::Test
  LANGUAGE = "ruby"

  def self.object(properties) = { "type" => "object", "properties" => properties, "required" => properties.keys }

  # Schemas that are too large for a file; test/browser/form-schemas.ts makes the same.
  GENERATORS = {
    "manyBranches" => -> { object("v" => { "anyOf" => Array.new(10_000) { |i| { "const" => "k#{i}" } } }) },
    "manyObjects" => lambda {
      object("v" => { "oneOf" => Array.new(1000) { |i| object("kind" => { "const" => "k#{i}" }, "n" => { "type" => "integer" }) } })
    },
    "hugeEnum" => -> { object("city" => { "enum" => Array.new(20_000) { |i| "city #{i}" } }) },
    "deep" => -> { 2000.times.reduce({ "type" => "string" }) { |inner, _| object("a" => inner) } },
    "wide" => -> { { "type" => "object", "properties" => Array.new(5000) { |i| ["f#{i}", { "type" => "string" }] }.to_h } }
  }.freeze

  FILES = Dir[File.join(ROOT, "clients/vectors/schemas/*.json")].to_h do |path|
    [File.basename(path, ".json"), JSON.parse(File.read(path))]
  end
  PLAIN = Support.vectors("schemas.json")["cases"].to_h { |each| [each["title"], each] }

  { **FILES, **PLAIN }.each do |name, each|
    define_method("test_#{name.gsub(/\W+/, '_')}") { look_at(each) }
  end

  def test_none_is_missing
    assert_operator FILES.size, :>=, 95
    refute_empty PLAIN
  end

  private

  def look_at(each)
    fails = (each["invalid"] || []).map { |one| { "pointers" => [one["pointer"]], **one } } + (each["fails"] || [])
    compiled(each).each do |schema|
      ((each["valid"] || []) + (each["fits"] || [])).each { |value| assert_empty schema.problems(value), value.inspect }
      fails.each { |failing| assert_told(failing, schema.problems(failing["value"]).map { |problem| problem["pointer"] }) }
    end
  end

  def assert_told(failing, told)
    # It may tell more inside of a choice: why each branch does not fit.
    more = told.select { |pointer| (failing["inside"] || []).any? { |place| pointer == place || pointer.start_with?("#{place}/") } }
    assert_empty failing["pointers"] - told, failing["value"].inspect
    assert_empty told - more - failing["pointers"], failing["value"].inspect
  end

  def compiled(each)
    schema = each["generate"] ? GENERATORS[each["generate"]].call : each["schema"]
    unusable = each["unusable"] || each.dig("unusableIn", LANGUAGE)
    usable = []
    if unusable then assert_raises(Pshub::ConfigError) { Pshub::Schema.own(schema, "it") }
    else usable << Pshub::Schema.own(schema, "it")
    end
    if unusable || each.dig("uncheckedBy", LANGUAGE) then assert_raises(Pshub::Schema::Unusable) { Pshub::Schema.foreign(schema) }
    else usable << Pshub::Schema.foreign(schema)
    end
    usable
  end
end
