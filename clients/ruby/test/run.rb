# frozen_string_literal: true

# All tests: ruby test/run.rb [--junit=report.xml] [minitest's own options]
require_relative "helper"
require "cgi"

# What other tools read: one line per test, and why it failed.
class JUnitReporter < Minitest::StatisticsReporter
  def initialize(path)
    super(StringIO.new)
    @path = path
    @lines = []
  end

  def record(result)
    super
    failure = result.failure
    inner = failure ? %(<failure message="#{CGI.escapeHTML(failure.message.scrub)}"/>) : ""
    @lines << format('<testcase classname="%s" name="%s" time="%.3f">%s</testcase>', result.klass, result.name, result.time, inner)
  end

  def report
    super
    head = format('<testsuite name="ruby" tests="%d" failures="%d" errors="%d" skipped="%d">', count, failures, errors, skips)
    File.write(@path, "<testsuites>#{head}#{@lines.join}</testsuite></testsuites>")
  end
end

report = ARGV.find { |argument| argument.start_with?("--junit=") }
ARGV.delete(report)
Dir[File.join(__dir__, "test_*.rb")].sort.each { |path| require path }
if report
  path = report.delete_prefix("--junit=")
  Minitest.extensions << "pshub"
  Minitest.define_singleton_method(:plugin_pshub_init) { |_| reporter << JUnitReporter.new(path) }
end
# The process is left only when all is ended: an at_exit of the hubs comes after.
Minitest.autorun
