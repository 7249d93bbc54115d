# frozen_string_literal: true

# Reads schemas and values, a line of JSON each, and says what this client makes of them: why it rejects the schema, or which values fit.
$LOAD_PATH.unshift File.expand_path("../../../clients/ruby/lib", __dir__)
require "pshub"
require "json"

def foreign(schema)
  Pshub::Schema.foreign(schema)
rescue Pshub::Schema::Unusable
  nil
end

def judged(schema, values)
  own = Pshub::Schema.own(schema, "it")
  other = foreign(schema)
  { fits: values.map { |value| own.problems(value).empty? }, foreign: other && values.map { |value| other.problems(value).empty? } }.compact
rescue Pshub::ConfigError => e
  { rejected: foreign(schema) ? "only as its own" : e.message }
end

$stdout.sync = true
$stdin.each_line do |line|
  given = JSON.parse(line)
  puts JSON.generate(judged(given["schema"], given["values"]))
rescue StandardError, SystemStackError => e
  puts JSON.generate({ rejected: "crashed: #{e.inspect}" })
end
