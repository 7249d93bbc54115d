# frozen_string_literal: true

require_relative "lib/pshub/redis/lua_sources"
require_relative "lib/pshub/wire/version"

Pshub::LuaSources.write

Gem::Specification.new do |spec|
  spec.name = "pshub"
  spec.version = Pshub::VERSION
  spec.summary = "A synchronous RPC task hub over Redis: await an answer from a worker in any language."
  spec.description = "Caller and worker of pshub for Ruby: calls with deadlines and truthful errors, workers with leases."
  spec.authors = ["the pshub authors"]
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.0"
  spec.files = Dir["lib/**/*.{rb,lua}", "exe/*", "sig/*.rbs", "README.md", "LICENSE"]
  spec.bindir = "exe"
  spec.executables = ["pshub-worker-rb"]
  # 5.0 and 5.1 have no way to read the answers of a pipeline in which one is an error.
  spec.add_dependency "redis", ">= 4.8", "< 7", *(0..8).map { |patch| "!= 5.0.#{patch}" }, "!= 5.1.0"
  # Not needed but for schedules: hubs that make them, and workers that keep them up.
  spec.add_development_dependency "fugit", ">= 1.5"
  spec.add_development_dependency "minitest", ">= 5.0"
  spec.metadata = { "rubygems_mfa_required" => "true" }
end
