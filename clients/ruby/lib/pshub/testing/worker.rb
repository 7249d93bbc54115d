# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../worker/worker"

module Pshub
  # A worker in this process that can be killed like a process, and started again.
  class TestWorker
    # The clock goes in strides: a lease lasts for these, but for who dies.
    LEASE_S = 600
    # What a lease is by default: so long it takes until others see that a worker died.
    DEATH_S = 4

    def initialize(redis, runs, tasks, options)
      @redis = redis
      @tasks = tasks.map { |each| runs.noted(each) }
      @options = options
      @dead = []
    end

    # The current worker. Raises ConfigError when none is running.
    def worker = @worker || raise(ConfigError, "This worker is stopped or killed; start makes a new one.")

    # Number of running requests.
    def busy = @worker ? @worker.busy : 0
    def connections = @worker ? @line.connections : 0
    # The queue it serves.
    def queue = @worker && @options.fetch(:queue, "default")

    # Starts a new worker, also after #die and #stop. Raises ConfigError when it is running.
    def start
      raise ConfigError, "This worker is already running." if @worker

      @line = @redis.line
      started = Worker.new(redis: @line.url, tasks: @tasks, lease: LEASE_S, **@options)
      started.start
      @worker = started
      self
    end

    # Stops it gracefully: running tasks may finish for +grace+ seconds, as on SIGTERM.
    def stop(**grace)
      worker, @worker = @worker, nil
      return unless worker

      worker.stop(**grace)
      @line.cut
    end

    # Kills it like a process: its connections and everything in flight are gone, and its lease expires 4 s later on the clock of the
    # test, when another worker takes over its requests. Its handlers are notified; they keep running in this process, but their results
    # reach nobody. Raises ConfigError when none is running.
    def die
      raise ConfigError, "This worker is already stopped or killed." unless @worker

      worker, @worker = @worker, nil
      ids = worker.ids
      @line.cut
      @redis.ask("lapse", (Clock.wall_ms + (DEATH_S * 1000)).to_s, *ids)
      @dead << Thread.new { worker.stop(grace: 0) }
    end

    # Returns when nothing of killed workers runs in this process.
    def buried = @dead.each(&:join)
  end
end
