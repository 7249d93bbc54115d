# frozen_string_literal: true

require_relative "helper"
require "ripper"

# What the tests themselves must not do, so that they pass on a busy machine, too.
class TestSuiteRules < Minitest::Test
  # These are not tests: programs that worker processes run, the one helper that sleeps, and this file.
  OTHERS = %w[tasks.rb helper.rb test_suite_rules.rb].freeze
  FILES = (Dir[File.join(__dir__, "*.rb")].reject { |path| OTHERS.include?(File.basename(path)) }).freeze

  # An upper bound on the time that has passed.
  SINCE = /(Clock\.now|clock_gettime\(\S+\)|\b(?:real_now|now|ms))\)? - /
  BOUND = /:<=?\B|\s<=?\s|assert_in_delta|assert_includes/
  HURRY = ->(line) { line.match?(SINCE) && line.match?(BOUND) }
  # SCAN may return a key twice.
  LISTED = ->(line) { line.match?(/\bscan_each\b|client\.scan\b/) && !line.match?(/\.uniq\b|\.to_set\b/) }

  # Lines of code with their places; comments are left out.
  def lines_where
    FILES.flat_map do |path|
      File.readlines(path).each_with_index.filter_map do |line, at|
        "#{File.basename(path)}:#{at + 1}: #{line.strip}" if !line.match?(/^\s*#/) && yield(line)
      end
    end
  end

  def sleeps?(line) = Ripper.lex(line).any? { |_, kind, text| kind == :on_ident && text == "sleep" }

  def test_a_wait_says_why
    assert_empty lines_where { |line| line.include?("sleep") && sleeps?(line) }, "call delay(seconds, why), or wait for an event"
  end

  def test_no_upper_bound_on_elapsed_time
    assert_empty lines_where(&HURRY), "assert an order or a state; a busy machine is slow"
  end

  def test_keys_of_a_scan_are_a_set
    assert_empty lines_where(&LISTED), "SCAN may return a key twice: add .uniq"
  end
end
