# frozen_string_literal: true

require_relative "../hub/hub"
require_relative "../task/task"
require_relative "../wire/errors"
require_relative "../wire/times"
require_relative "clock"
require_relative "enqueued"
require_relative "inline_hub"
require_relative "memory/server"
require_relative "redis"
require_relative "runs"
require_relative "worker"

module Pshub
  # A hub and a worker, as they are in production, on a Redis in this process: no server, no waiting for seconds.
  #
  #   kit = Pshub::InMemory.new(SEND_MAIL, RESIZE)
  #   kit.hub.call("resize:1.0", { width: 80 })
  #   kit.close
  class InMemory
    JOB_MODES = %w[run inline wait].freeze
    # How far the clock is moved at most while something is due that nobody has moved yet: a beat tells of it.
    BEAT_S = 1.1
    SLOTS = 16
    # Options that are not for the test to say.
    OWN = %i[redis tasks].freeze

    # +hub+ and +worker+; the +redis+, a TestRedis: give redis.target to further hubs and workers, and have it go away; and the +clock+, a TestClock.
    attr_reader :hub, :worker, :redis, :clock

    # +tasks+:: what the worker runs, as +task+ made it. Without any there is none: for what only calls and enqueues
    # +jobs+:: +run+: the worker runs jobs in the background, as in production. +inline+: Hub#enqueue returns when the job has run, and raises what
    #          its block raised. +wait+: jobs wait until #drain
    # +worker+, +hub+:: further options of these
    #
    # Raises ConfigError for wrong options, and where the system has no Lua 5.1.
    def initialize(*tasks, jobs: "run", worker: {}, hub: {})
      check(jobs.to_s, tasks, OWN & (worker.keys + hub.keys))
      @tasks = tasks
      @options = { slots: SLOTS, **worker }
      @waits = jobs.to_s == "wait"
      @workers = []
      @runs = Runs.new { @workers.sum(&:busy) }
      @memory = MemoryRedis.new
      @clock = TestClock.new(@memory, @runs)
      @record = EnqueuedJobs.new(@memory)
      @line = @memory.line
      @redis = TestRedis.new(@memory, @clock) { [@line, *@workers] }
      start(jobs.to_s, hub)
    end

    # Starts another worker, of the same tasks and options but for those that are given. It ends with the rest. Raises ConfigError.
    def start_worker(*tasks, **options)
      tasks = @tasks if tasks.empty?
      worker = make_worker(tasks, options, takes_jobs: !@waits)
      @workers << worker
      tasks.empty? ? worker : worker.start
    end

    # The jobs that were enqueued so far, of a task (+name+ of any version) or all: the first one first. Counted is what came into Redis, whoever
    # enqueued it: no twin of a unique job, nothing that was refused, and not what a schedule or a step of a chain brings.
    def enqueued(task = nil) = @record.of(task)

    # Looks for a job that was enqueued with these arguments, or with any; names may be symbols, and whatever says with === what fits may stand in
    # them. Returns the first one. Raises NotEnqueuedAsExpected.
    def expect_enqueued(task, args = nil) = @record.expect(task, args)

    # Runs what waits to be run now, and what that enqueues, until nothing is left. Returns how many handlers ran. What is due later stays.
    # +timeout+:: for how long, in real seconds, handlers may take in all
    #
    # Raises RuntimeError when they take longer, ConfigError when the kit was closed.
    def drain(timeout: 5.0)
      raise ConfigError, MemoryRedis::CLOSED if @closed

      before = @runs.count
      drainer = make_worker(@tasks, {}, takes_jobs: true).start if @waits && @tasks.any?
      empty(Times.seconds(timeout))
      @runs.count - before
    ensure
      drainer&.stop(grace: 0)
    end

    # Ends all of it.
    def close
      return if @closed

      @closed = true
      @memory.come_back
      @hub&.close
      @workers.each { |worker| worker.stop(grace: 0) }
      @workers.each(&:buried)
      @clock.close
      # What came in is known behind the end, too.
      @record.of
      @memory.close
    end

    private

    def check(jobs, tasks, own)
      raise ConfigError, "'jobs' must be one of #{JOB_MODES.join(', ')}, not #{jobs}." unless JOB_MODES.include?(jobs)

      wrong = tasks.find { |each| !each.is_a?(Task) }
      raise ConfigError, "InMemory is given what task made, not #{wrong.inspect}." if wrong
      raise ConfigError, "#{own.join(', ')}: the kit sets this option of its hub and worker." if own.any?
    end

    def start(jobs, options)
      @hub = (jobs == "inline" ? InlineHub : Hub).new(redis: @line.url, **options)
      @worker = start_worker
      @hub.run_inline(@runs, @record, @clock, @worker) if jobs == "inline"
    rescue StandardError
      close
      raise
    end

    def make_worker(tasks, options, takes_jobs:)
      given = { **@options, **options }
      TestWorker.new(@memory, @runs, tasks, { **given, job_slots: takes_jobs ? given.fetch(:job_slots, given[:slots]) : 0 })
    end

    def empty(timeout)
      finish = real_now + timeout
      moved_s = 0.0
      loop do
        @clock.quiet(finish: finish)
        left = @memory.ask("left")
        return if left.empty? && @runs.running.zero?

        give_up(timeout, left) if real_now > finish
        # Handlers end by themselves; what only lies there waits for a beat, a release or a rest.
        if @runs.running.zero? && moved_s < BEAT_S then moved_s += @clock.step(0.05, finish: finish)
        else sleep 0.001
        end
      end
    end

    def give_up(timeout, left)
      what = left.each_slice(2).map { |name, count| "#{count} in #{name}" }
      raise "drain timed out after #{timeout} s: #{@runs.running} handlers run; left are #{what.empty? ? 'none' : what.join(', ')}."
    end

    def real_now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
