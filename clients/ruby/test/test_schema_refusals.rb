# frozen_string_literal: true

require_relative "helper"

# Schemas that all languages reject, in the same words, and digests of declarations.
class TestSchemaRefusals < Minitest::Test
  Support.vectors("schema-refusals.json")["cases"].each do |each|
    define_method("test_#{each['title'].gsub(/\W+/, '_')}") do
      rejected = assert_raises(Pshub::ConfigError) { Pshub::Schema.own(each["schema"], "it") }
      assert_equal "it is not a valid JSON Schema (2020-12): #{each['says']}", rejected.message
      assert_raises(Pshub::Schema::Unusable) { Pshub::Schema.foreign(each["schema"]) }
    end
  end

  Support.vectors("digests.json")["cases"].each do |each|
    define_method("test_digest_#{each['title'].gsub(/\W+/, '_')}") do
      args, result, yields = each.values_at("args", "result", "yields").map { |text| text && JSON.parse(text) }
      declared = Pshub.const_get(:Task).new("a:1.0", args, result, "", 5, false, -> {}, yields: yields)
      assert_equal each["digest"], declared.digest
    end
  end
end
