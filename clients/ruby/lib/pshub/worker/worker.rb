# frozen_string_literal: true

require_relative "../figures/events"
require_relative "../outlets/log"
require_relative "../outlets/statsd"
require_relative "../settings/read"
require_relative "../task/task"
require_relative "../wire/errors"
require_relative "../wire/keys"
require_relative "../wire/stop"
require_relative "service"

module Pshub
  # Serves one queue with a fixed number of slots, in all shards that it is spread over. Handlers run on threads, one per slot; the lease, claims and replies have
  # threads of their own, which a handler that computes does not keep from their turn.
  #
  #   worker = Pshub::Worker.new(queue: "default", slots: 4, tasks: Pshub.tasks).start
  #   worker.stop(grace: 5)
  class Worker
    attr_reader :events

    # +redis+:: URL, or a hash of the redis gem's options. Default: PSHUB_REDIS, else redis://127.0.0.1:6379
    # +tasks+:: what it runs, as +task+ made it. Default: all that were declared in this process
    # +options+:: +queue+ (+default+; all of its shards are served with the same slots), +slots+ (4),
    #             +job_slots+ (how many of these may run jobs: half, rounded up; 0: none), +namespace+, +grace+ (seconds to finish what
    #             runs when it is stopped, 10), +lease+ (seconds of silence after which others take over, 4), +max_payload_bytes+,
    #             +max_backlog+, +health_port+ (where probes are answered: /livez, /readyz),
    #             +build+ (which build of the program this is, as a git commit: 1 to 64 characters), +statsd+ (host:port),
    #             +name+ (in its metrics; the name of the host)
    #
    # Raises ConfigError for what cannot work.
    def initialize(redis: nil, tasks: Pshub.tasks, **options)
      @settings = Settings.new(:worker, { redis: redis, **options })
      check_job_slots
      check_queue
      @tasks = by_name(tasks)
      @events = Events.new
      Log.watch(@events)
      @statsd = StatsD.watch(@events, @settings.statsd, @settings.name)
      @pid = Process.pid
      @stopped = Stop.new
    end

    # Starts serving. Returns when the worker is registered, or after some two seconds while Redis is away: it goes on trying
    # then.
    #
    # Raises ConfigError when +health_port+ is taken, or this Redis cannot keep the promises (too old, a replica, evicting, without needed rights).
    def start
      raise ConfigError, "A worker is started once; make a new one." if @service

      @pid = Process.pid
      @service = Service.new(@settings, @tasks, @events)
      @service.start
      self
    end

    # Takes no more work, lets what runs finish for +grace+ seconds (default: the setting), puts the rest back, and says goodbye
    # to the registry. Never raises. A second call may shorten the grace of the first. Does nothing in a forked child.
    def stop(grace: @settings.grace)
      return if @service.nil? || @stopped.set? || @pid != Process.pid

      @service.stop(grace)
      @statsd&.close
      @stopped.set
    end

    # Waits until the worker was stopped, or so many seconds; true when it was.
    def wait(seconds = nil) = @stopped.wait(seconds)

    # In the place that +queue+ names; it has one for each shard. Changes when the lease was lost. nil before the start.
    def id = @service&.worker_id
    # Of all its places.
    def ids = @service ? @service.worker_ids : []

    # Which Redis it serves.
    def redis = @settings.redis

    # Requests that run now.
    def busy = @service ? @service.busy : 0

    private

    def check_job_slots
      size, given = @settings.slots, @settings.job_slots
      raise ConfigError, "job_slots is #{given}, but this worker has #{size} slots in all." if given && given > size
    end

    def check_queue
      forwarder = Keys.forwarder_of(@settings.queue)
      raise ConfigError, "Queue #{@settings.queue} belongs to a forwarder: pshub forward #{forwarder}." if forwarder
    end

    def by_name(tasks)
      tasks = Array(tasks)
      wrong = tasks.find { |each| !each.is_a?(Task) }
      raise ConfigError, "tasks holds #{wrong.inspect}, which task did not make." if wrong
      raise ConfigError, "A worker needs tasks: declare some with Pshub.task." if tasks.empty?

      twice = tasks.map(&:full_name).tally.find { |_, count| count > 1 }
      raise ConfigError, "The task #{twice.first} is listed twice." if twice

      tasks.to_h { |each| [each.full_name, each] }
    end
  end
end
