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
  # A hub and a worker on a Redis in this process, otherwise as in production: no server, no waiting.
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

    # The +hub+ and the +worker+; the +redis+, a TestRedis: pass redis.target to further hubs and workers, or make it unreachable; and the
    # +clock+, a TestClock.
    attr_reader :hub, :worker, :redis, :clock

    # +tasks+:: tasks of the worker. Without tasks there is no worker: only call and enqueue
    # +jobs+:: +run+: the worker runs jobs in the background, as in production. +inline+: Hub#enqueue returns when the job has run, and
    #   raises the error of its block. +wait+: jobs wait until #drain
    # +worker+, +hub+:: further options of these
    #
    # Raises ConfigError for invalid options, and when the system has no Lua 5.1.
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

    # Starts another worker with the same tasks and options, except those passed. #close stops it too. Raises ConfigError.
    def start_worker(*tasks, **options)
      tasks = @tasks if tasks.empty?
      worker = make_worker(tasks, options, takes_jobs: !@waits)
      @workers << worker
      tasks.empty? ? worker : worker.start
    end

    # The jobs enqueued so far, of one task (+name+ matches any version) or all, the first one first, whoever enqueued them. Duplicates of
    # unique jobs, rejected jobs, and jobs of schedules and later steps of chains are not included.
    def enqueued(task = nil) = @record.of(task)

    # Expects a job that was enqueued with these arguments, or with any; keys may be symbols, and values may be matchers that respond to
    # ===. Returns the first match. Raises NotEnqueuedAsExpected.
    def expect_enqueued(task, args = nil) = @record.expect(task, args)

    # Runs all due jobs, and the jobs that they enqueue, until none is left. Returns how many handlers ran. Scheduled jobs stay.
    # +timeout+:: how long handlers may take in total, in real seconds
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

    # Closes everything.
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
