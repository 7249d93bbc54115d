# Counts the jobs of a process that runs them, and says when all have run, and what that cost.
require 'json'

module Drained
  WANTED = Integer(ENV.fetch('BENCH_COUNT', '0'))
  @seen = 0
  @lock = Mutex.new

  def self.job
    @lock.synchronize do
      @started ||= Process.clock_gettime(Process::CLOCK_MONOTONIC)
      @seen += 1
      finish if @seen == WANTED
    end
  end

  def self.finish
    ms = (Process.clock_gettime(Process::CLOCK_MONOTONIC) - @started) * 1000
    cpu_ms = (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - CPU_BEFORE) * 1000
    $stdout.puts({ ms: ms, cpuMs: cpu_ms }.to_json)
    $stdout.flush
  end

  CPU_BEFORE = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end
