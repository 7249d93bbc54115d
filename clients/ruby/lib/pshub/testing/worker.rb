# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../worker/worker"

module Pshub
  # A worker in this process, which can be killed as its process could be, and started again.
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

    # The worker itself. Raises ConfigError when none runs.
    def worker = @worker || raise(ConfigError, "This worker is stopped or killed; start makes a new one.")

    # Requests that run now.
    def busy = @worker ? @worker.busy : 0
    def connections = @worker ? @line.connections : 0
    # That it was told to serve.
    def queue = @worker && @options.fetch(:queue, "default")

    # Starts one, also after #die and #stop: it is a new one, as a process that was started again. Raises ConfigError when it runs.
    def start
      raise ConfigError, "This worker is already running." if @worker

      @line = @redis.line
      started = Worker.new(redis: @line.url, tasks: @tasks, lease: LEASE_S, **@options)
      started.start
      @worker = started
      self
    end

    # Lets what runs finish, for +grace+ seconds, and says goodbye, as on SIGTERM.
    def stop(**grace)
      worker, @worker = @worker, nil
      return unless worker

      worker.stop(**grace)
      @line.cut
    end

    # As if its process were killed: its connections are gone with all that was under way, and its lease ends 4 s later, on the test's clock, when
    # another worker takes over what it held. Its handlers are told to stop: the process of the test goes on, so they do, too, and what they return
    # reaches nobody. Raises ConfigError when none runs.
    def die
      raise ConfigError, "This worker is already stopped or killed." unless @worker

      worker, @worker = @worker, nil
      ids = worker.ids
      @line.cut
      @redis.ask("lapse", (Clock.wall_ms + (DEATH_S * 1000)).to_s, *ids)
      @dead << Thread.new { worker.stop(grace: 0) }
    end

    # Returns when nothing of those that died is left in this process.
    def buried = @dead.each(&:join)
  end
end
