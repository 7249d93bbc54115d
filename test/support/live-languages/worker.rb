# frozen_string_literal: true

# A worker of the tasks that come as one line of JSON, {"tasks": {"name:1.0": <schema of its arguments>}}, until stdin ends.
$LOAD_PATH.unshift File.expand_path("../../../clients/ruby/lib", __dir__)
require "pshub"

extend Pshub::DSL
JSON.parse($stdin.gets)["tasks"].each { |name, schema| task(name, args: schema) { |_args| true } }
worker = Pshub::Worker.new
worker.start
$stdout.puts "ready"
$stdout.flush
$stdin.read
worker.stop
