# frozen_string_literal: true

require "cgi"
require "minitest"

# What other tools read: one line per test, and why it failed.
class JUnitReporter < Minitest::StatisticsReporter
  def self.write_to(path)
    Minitest.extensions << "pshub"
    Minitest.define_singleton_method(:plugin_pshub_init) { |_| reporter << JUnitReporter.new(path) }
  end

  def initialize(path)
    super(StringIO.new)
    @path = path
    @lines = []
  end

  def record(result)
    super
    failure = result.failure
    kind = failure.is_a?(Minitest::Skip) ? "skipped" : "failure"
    inner = failure ? %(<#{kind} message="#{CGI.escapeHTML(failure.message.scrub)}"/>) : ""
    @lines << format('<testcase classname="%s" name="%s" time="%.3f">%s</testcase>', result.klass, result.name, result.time, inner)
  end

  def report
    super
    head = format('<testsuite name="ruby" tests="%d" failures="%d" errors="%d" skipped="%d">', count, failures, errors, skips)
    File.write(@path, "<testsuites>#{head}#{@lines.join}</testsuite></testsuites>")
  end
end
