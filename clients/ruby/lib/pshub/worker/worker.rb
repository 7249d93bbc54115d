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
  # Serves one queue with a fixed number of slots, in all its shards. Handlers run on threads, one per slot; the lease, claims and replies
  # have threads of their own, which a computing handler does not block.
  #
  #   worker = Pshub::Worker.new(queue: "default", slots: 4, tasks: Pshub.tasks).start
  #   worker.stop(grace: 5)
  class Worker
    attr_reader :events

    # +redis+:: URL, or a hash of the redis gem's options. Default: PSHUB_REDIS, else redis://127.0.0.1:6379
    # +tasks+:: its tasks. Default: all tasks declared in this process
    # +options+:: +queue+ (+default+), +slots+ (4), +job_slots+ (how many of the slots may run jobs: half, rounded up; 0: none),
    #   +namespace+, +grace+ (seconds that running tasks may take when it stops, 10), +lease+ (seconds without a heartbeat after which
    #   others take over, 4), +max_payload_bytes+, +max_backlog+, +health_port+ (port that answers probes: /livez, /readyz), +build+
    #   (build of the program, such as a git commit: 1 to 64 characters), +statsd+ (host:port), +name+ (in its metrics; the name of the
    #   host)
    #
    # Raises ConfigError for an invalid setting.
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

    # Starts the worker. Returns when it is registered, or after about two seconds while Redis is unreachable: then it keeps reconnecting.
    #
    # Raises ConfigError when +health_port+ is taken, or this Redis cannot be used (too old, a replica, evicting, or missing rights).
    def start
      raise ConfigError, "A worker is started once; make a new one." if @service

      @pid = Process.pid
      @service = Service.new(@settings, @tasks, @events)
      @service.start
      self
    end

    # Stops the worker: it claims no more requests, running tasks may finish for +grace+ seconds (default: the setting), the rest returns
    # to the queue, and the worker leaves the registry. Never raises. A second call may shorten the grace period. Does nothing in a forked
    # child.
    def stop(grace: @settings.grace)
      return if @service.nil? || @stopped.set? || @pid != Process.pid

      @service.stop(grace)
      @statsd&.close
      @stopped.set
    end

    # Waits until the worker has stopped, or at most this many seconds; true if it has stopped.
    def wait(seconds = nil) = @stopped.wait(seconds)

    # Its id in its queue; it has one for each shard. A lost lease changes it. nil before the start.
    def id = @service&.worker_id
    # Its ids in all shards.
    def ids = @service ? @service.worker_ids : []

    # The Redis it serves.
    def redis = @settings.redis

    # Number of running requests.
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
