# frozen_string_literal: true

# The gate: ruby test/run.rb [--junit=report.xml] [minitest's own options]. It runs test_*.rb without *_long.rb; with --long only the
# latter. Each file runs in a process of its own, four at a time, because tests mostly wait. Files that are named run here, in this process.
require "tmpdir"
require_relative "helper"
require_relative "junit_reporter"

AT_ONCE = 4
# The slowest files start first.
SLOW = %w[test_faults.rb test_lost_workers.rb test_program.rb test_schedules.rb test_streams.rb test_health.rb].freeze

# Loads the files and runs their tests when this process exits: hubs and workers that are still open then close after the tests.
def run_here(paths, options, report)
  ARGV.replace(options)
  paths.each { |path| require File.expand_path(path, File.exist?(path) ? Dir.pwd : __dir__) }
  JUnitReporter.write_to(report) if report
  Minitest.autorun
end

# Runs files side by side. A child is forked for each one, so that the library is loaded only once; children that follow each other share
# a redis-server.
class Files
  # +options+ are minitest's.
  def initialize(paths, options)
    @waiting = paths.sort_by { |path| SLOW.index(File.basename(path)) || SLOW.size }
    @options = options
    @running = {}
    @idle = Array.new(AT_ONCE) { Support::Server.new }
    @servers = @idle.dup
    @ok = true
    %w[INT TERM].each { |signal| trap(signal) { interrupt } }
  end

  # Returns true when all of them passed. +reports+ is a folder for their reports.
  def run(reports)
    while start(reports) || @running.any?
      pid, status = Process.wait2
      path, output, server = @running.delete(pid) || next
      @idle << server
      @ok &&= status.success?
      tell(path, File.read(output), status)
    end
    @ok
  ensure
    @servers.each(&:close)
  end

  private

  # Returns false: nothing is left to start, or all slots are busy.
  def start(reports)
    while @idle.any? && (path = @waiting.shift)
      name = File.basename(path, ".rb")
      output = File.join(reports, "#{name}.txt")
      server = @idle.shift
      @running[fork { become(path, output, server, File.join(reports, "#{name}.xml")) }] = [path, output, server]
    end
    false
  end

  def become(path, output, server, report)
    %w[INT TERM].each { |signal| trap(signal, "DEFAULT") }
    [$stdout, $stderr].each { |stream| stream.reopen(output, "a").sync = true }
    PshubTest.share(server)
    run_here([path], @options, report)
  end

  def tell(path, text, status)
    summary = text[/^\d+ runs, .*/]
    puts "#{File.basename(path)}: #{summary || 'no test was run to its end'}"
    puts text unless status.success?
    $stdout.flush
  end

  def interrupt
    [*@running.keys, *@servers.filter_map(&:pid)].each { |pid| Process.kill("TERM", pid) }
    exit!(130)
  end
end

# Makes one report of all.
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
report = report&.delete_prefix("--junit=")
long = ARGV.delete("--long")
named, options = ARGV.partition { |argument| argument.end_with?(".rb") }
if named.any?
  run_here(named, options, report)
else
  paths = Dir[File.join(__dir__, "test_*.rb")].select { |path| path.end_with?("_long.rb") == !long.nil? }
  Dir.mktmpdir("pshub-ruby-tests-") do |reports|
    ok = Files.new(paths, options).run(reports)
    merge(reports, report) if report
    exit(ok)
  end
end
