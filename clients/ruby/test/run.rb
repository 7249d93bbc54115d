# frozen_string_literal: true

# All tests: ruby test/run.rb [--junit=report.xml] [minitest's own options]. Each file runs in a process of its own, some of them side by
# side: they wait more than they compute, for leases and deadlines. With names of files only these are run, here.
require "rbconfig"
require "tmpdir"

AT_ONCE = 4
# They wait longest, so they begin.
SLOW = %w[test_lost_workers.rb test_faults.rb test_job_flows.rb test_connections.rb test_pause.rb test_truth.rb].freeze

# Several processes.
class Files
  # +options+ are minitest's.
  def initialize(paths, options)
    @waiting = paths.sort_by { |path| SLOW.index(File.basename(path)) || SLOW.size }
    @options = options
    @running = {}
    @ok = true
    %w[INT TERM].each { |signal| trap(signal) { interrupt } }
  end

  # True when all of them passed. +reports+ is a folder for what they found.
  def run(reports)
    while start(reports) || @running.any?
      pid, status = Process.wait2
      path, output = @running.delete(pid) || next
      @ok &&= status.success?
      tell(path, File.read(output), status)
    end
    @ok
  end

  private

  # False when nothing is left to start.
  def start(reports)
    while @running.size < AT_ONCE && (path = @waiting.shift)
      name = File.basename(path, ".rb")
      output = File.join(reports, "#{name}.txt")
      command = [RbConfig.ruby, __FILE__, path, "--junit=#{File.join(reports, "#{name}.xml")}", *@options]
      @running[Process.spawn(*command, out: output, err: %i[child out])] = [path, output]
    end
    false
  end

  def tell(path, text, status)
    summary = text[/^\d+ runs, .*/]
    puts "#{File.basename(path)}: #{summary || 'no test was run to its end'}"
    puts text unless status.success?
    $stdout.flush
  end

  def interrupt
    @running.each_key { |pid| Process.kill("TERM", pid) }
    exit!(130)
  end
end

# Of all reports one.
def merge(reports, path)
  texts = Dir[File.join(reports, "*.xml")].map { |each| File.read(each) }
  sums = %w[tests failures errors skipped].map do |name|
    %(#{name}="#{texts.sum { |text| text[/<testsuite [^>]* #{name}="(\d+)"/, 1].to_i }}")
  end
  cases = texts.map { |text| text[%r{<testsuite [^>]*>(.*)</testsuite>}m, 1] }
  File.write(path, %(<testsuites><testsuite name="ruby" #{sums.join(' ')}>#{cases.join}</testsuite></testsuites>))
end

report = ARGV.find { |argument| argument.start_with?("--junit=") }
ARGV.delete(report)
named, options = ARGV.partition { |argument| argument.match?(/\Atest_\w+\.rb\z/) || argument.end_with?(".rb") }
if named.empty?
  Dir.mktmpdir("pshub-ruby-tests-") do |reports|
    ok = Files.new(Dir[File.join(__dir__, "test_*.rb")], options).run(reports)
    merge(reports, report.delete_prefix("--junit=")) if report
    exit(ok)
  end
else
  require_relative "helper"
  require_relative "junit_reporter"
  ARGV.replace(options)
  named.each { |path| require File.expand_path(path, File.exist?(path) ? Dir.pwd : __dir__) }
  JUnitReporter.write_to(report.delete_prefix("--junit=")) if report
  # The process is left only when all is ended: an at_exit of the hubs comes after.
  Minitest.autorun
end
