# frozen_string_literal: true

require "monitor"
require_relative "../redis/boot_check"
require_relative "../redis/connections"
require_relative "../redis/refusals"
require_relative "../wire/errors"
require_relative "../wire/keys"
require_relative "../wire/stop"
require_relative "crew"
require_relative "health"
require_relative "nested"
require_relative "queues/sharding"
require_relative "roles/fetch"
require_relative "roles/inspect"
require_relative "slot_pool"
require_relative "slot_threads"

module Pshub
  # One worker at work, from its start to its end: a crew for its queue, one for each further shard of that, and what they share.
  class Service
    # How long the start waits for Redis.
    PATIENCE_S = 2.0

    def initialize(settings, tasks, events)
      @settings = settings
      @events = events
      @lock = Monitor.new
      @stopping = Stop.new
      @grace_over = Stop.new
      @stopped = Stop.new
      @state = :new
      @commands, @waiting = Connections.pair("worker", settings.redis, events)
      @common = make_common(settings, tasks)
      @crews = []
      @parting = []
      @named = make_crew(settings.queue)
      @inspect = make_inspect
      @health = Health.new(settings, self)
    end

    # Returns when the worker is registered, or after some two seconds while Redis is away: it goes on trying then. Raises
    # ConfigError when +health_port+ is taken, or this Redis cannot keep the promises.
    def start
      @state = :running
      # Before all that takes its time, which is seen to be starting.
      open_health
      unfit = @inspect.look if here.wait_ready(@stopping, PATIENCE_S)
      return if @stopping.set?

      if unfit.nil? then @waiter = Thread.new { serve if @inspect.wait_until_fit }
      elsif unfit.empty? then serve
      else refuse(ConfigError.new(BootCheck.refusal(unfit)))
      end
    end

    # Takes no more work, lets what runs finish for so many seconds, puts the rest back. A second call may shorten the first.
    def stop(grace_s)
      first = @lock.synchronize do
        next false if @leaving

        @leaving = true
      end
      timer = Thread.new { @stopped.wait(grace_s) || @grace_over.set }
      leave if first
      @stopped.wait
      timer.join
    end

    # Of the place that it was told to serve; it has one for each. Changes when the lease was lost.
    def worker_id = @named.worker_id
    # Of all its places.
    def worker_ids = @crews.map(&:worker_id)

    # Requests that run now.
    def busy = @common.pool.busy

    # What probes ask.

    def health_state
      return "stopping" unless @state == :running

      @serving ? "serving" : "starting"
    end

    # Places in which the lease is not certain.
    def uncertain = @crews.reject(&:lease_certain?).map(&:name)

    def connected? = here.ready?

    # Names of threads that should live and do not.
    def ended_threads
      return [] unless health_state == "serving"

      common = { "fetch" => @common.fetch, "deadlines" => @common.threads }.select { |_, each| each.ended? }.keys
      common + @crews.flat_map { |crew| crew.ended_threads.map { |name| "#{name} of #{crew.name}" } }
    end

    private

    def make_common(settings, tasks)
      pool = SlotPool.new(settings.slots, settings.job_slots || (settings.slots / 2.0).ceil)
      keys = Keys.new(settings.namespace)
      Crew::Common.new(
        settings: settings, tasks: tasks, events: @events, keys: keys, commands: @commands, waiting: @waiting, pool: pool,
        threads: SlotThreads.new(settings.slots), nested: NestedCalls.new(settings, @events), fetch: Roles::Fetch.new(pool, @stopping),
        sharding: Sharding.new(settings.queue, keys) { |names| serve_also(names) }, serving: -> { @state == :running }
      )
    end

    def make_inspect
      Roles::Inspect.new(here, @common.keys, @events, @stopping) { @lock.synchronize { @crews.map(&:name) } }
    end

    # The place that it was told to serve.
    def here = @commands.at(@common.keys.queue(@settings.queue).calls).without_waiting

    def make_crew(name)
      serves = ->(queue) { @lock.synchronize { @crews.any? { |each| each.name == queue } } }
      Crew.new(@common, name, serves) { |crew| part_with(crew) }.tap { |crew| @crews += [crew] }
    end

    def serve
      @lock.synchronize do
        return if @stopping.set?

        @common.threads.start
        @named.beat_now
        @named.start
        @common.fetch.start
        @watch = Thread.new { @inspect.watch }
        @serving = true
      end
    end

    # These shards, too, unless they are served already.
    def serve_also(names)
      @lock.synchronize do
        next if @stopping.set?

        (names - @crews.map(&:name)).each { |name| make_crew(name).start }
      end
    end

    # What was a shard is none any more.
    def part_with(crew)
      @lock.synchronize do
        next if @stopping.set? || crew == @named || !@crews.include?(crew)

        @crews -= [crew]
        @parting = [*@parting.select(&:alive?), Thread.new { part(crew) }]
      end
    end

    def part(crew)
      crew.announce
      crew.retreat
      @events.emit("worker:stopped", **crew.leave(@grace_over))
    rescue StandardError => e
      problem(e)
    end

    def open_health
      @health.open
    rescue ConfigError => e
      refuse(e)
    end

    def refuse(error)
      [@waiting, @commands, @health].each(&:close)
      @stopping.set
      @stopped.set
      raise error
    end

    # The last steps.

    def leave
      @state = :stopping
      @stopping.set
      crews = @lock.synchronize { @crews }
      # A place whose node is away keeps none of the others.
      side_by_side(crews, &:announce)
      @common.fetch.stop
      @waiting.close
      [@common.fetch, @waiter].compact.each(&:join)
      ends = side_by_side(crews) { |crew| crew.leave(@grace_over) }
      [*@parting, @watch].compact.each(&:join)
      @common.threads.stop
      @common.nested.close
      @commands.close
      @health.close
      ends.compact.each { |told| @events.emit("worker:stopped", **told) }
    rescue StandardError => e
      problem(e)
    ensure
      @stopped.set
    end

    def side_by_side(crews)
      tried = lambda do |crew|
        yield crew
      rescue StandardError => e
        problem(e)
        nil
      end
      return crews.map(&tried) if crews.size == 1

      crews.map { |crew| Thread.new { tried.call(crew) } }.map(&:value)
    end

    def problem(error)
      @events.emit("problem", where: "stop", reason: Refusals.explained(Errors.message_of(error)))
    end
  end
end
