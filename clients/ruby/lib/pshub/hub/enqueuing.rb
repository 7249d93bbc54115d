# frozen_string_literal: true

require_relative "../jobs/chain"
require_relative "../jobs/enqueue_options"
require_relative "../jobs/dead_jobs"
require_relative "../jobs/job"
require_relative "../jobs/job_key"
require_relative "../jobs/job_outbox"
require_relative "../jobs/schedule_entry"
require_relative "../jobs/schedules"
require_relative "../queue/batches"
require_relative "../queue/shards"
require_relative "../wire/canonical"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/ids"
require_relative "../wire/keys"
require_relative "arguments"
require_relative "placement"

module Pshub
  # What became of many jobs: +ids+ in the order of the entries (of a job that was there already, its id), and how many were, +twins+.
  EnqueuedMany = Struct.new(:ids, :twins)

  # Jobs, from a name and arguments to what is acknowledged in Redis.
  class Enqueuing
    MOST_AT_ONCE = 100_000

    # Into which shards jobs go.
    attr_reader :placement

    # +host+ is a JobHost, +dispatch+ gives the present Dispatch.
    def initialize(host, settings, events, keys, &dispatch)
      @host = host
      @settings = settings
      @events = events
      @keys = keys
      @dispatch = dispatch
      @placement = Placement.new(host)
    end

    def enqueue(task, args, options)
      called = checked_name(task)
      finish = Clock.now + EnqueueOptions.timeout_s(called, options[:timeout_ms])
      step = step_of(route_of(called, options, finish), Arguments.serialized(task, args), options, true)
      @placement.spread([step])
      twins = send_now(step.queue, [message_of([step])], finish, EnqueueOptions.durable?(options))
      Job.new(@host, twins.fetch(0, step.id), step.queue, step.task, twin: twins.any?)
    end

    # All are checked before the first is sent; then each batch of them is in Redis as a whole or not at all.
    def enqueue_many(entries, options)
      steps = @placement.spread(prepare(entries, options))
      send_all(steps, steps.map { |step| message_of([step]) }, options)
    end

    # Entries as jobs, none of which is sent yet. The block tells whether the arguments of the entry at a place are all there; where
    # they are not, its worker checks them. Raises a HubError whose data["index"] names the entry that is wrong.
    def prepare(entries, options)
      unless entries.is_a?(Array) && entries.size <= MOST_AT_ONCE
        raise InvalidArgs, "Pass jobs as an array of at most #{MOST_AT_ONCE} entries; split longer lists into several calls."
      end

      finish = Clock.now + EnqueueOptions.timeout_s("many", options[:timeout_ms])
      routes = {}
      entries.each_with_index.map do |entry, place|
        task, args, own = read(entry)
        merged = EnqueueOptions.combined(options, own)
        called = checked_name(task)
        route = routes[[merged[:queue], merged[:forward], called]] ||= route_of(called, merged, finish)
        step_of(route, Arguments.serialized(task, args), merged, block_given? ? yield(place) : true)
      rescue HubError => e
        data = { "index" => place, **(e.data.is_a?(Hash) ? e.data : {}) }
        raise Errors.make(e.code, "Nothing was enqueued. Entry #{place}: #{e.message}", task: e.task, data: data)
      end
    end

    # Sends jobs, each batch of them as a whole or not at all. Raises a HubError whose data["enqueued"] says how many were confirmed.
    def send_all(steps, messages, options)
      timeout_s = EnqueueOptions.timeout_s("many", options[:timeout_ms])
      ids = steps.map(&:id)
      enqueued = twins = 0
      steps.each_index.group_by { |place| steps[place].queue }.each do |queue, places|
        Batches.of(places) { |place| JobOutbox.weight_of(messages[place]) }.each do |batch|
          found = send_now(queue, messages.values_at(*batch), Clock.now + timeout_s, EnqueueOptions.durable?(options))
          found.each { |at, id| ids[batch[at]] = id }
          enqueued += batch.size
          twins += found.size
        end
      end
      EnqueuedMany.new(ids, twins)
    rescue NotEnqueued, OutcomeUnknown, HubClosed => e
      told = "#{enqueued} of #{steps.size} jobs were enqueued (the first of each queue), then it failed: #{e.message}"
      raise Errors.make(e.code, told, data: { "enqueued" => enqueued })
    end

    # What Hub#schedule does.
    def schedule(name, times, task, args, options)
      checked = ScheduleEntry.check_times(name, times)
      raise InvalidArgs, "schedule #{name}: durable is not an option of schedules: workers enqueue their jobs." if options.key?(:durable)

      timed = %i[delay_ms at].find { |option| !options[option].nil? }
      if timed
        raise InvalidArgs, "schedule #{name}: #{timed} is not an option of schedules: the cron entry says when jobs are due. Leave it out."
      end

      step = prepare([[task, args]], options).first
      schedules(step.queue).write(name, checked, step, @settings.name)
    end

    # Raise InvalidArgs for what is no queue's name.
    def schedules(queue) = Schedules.new(@host, checked_queue(queue))
    def dead(queue) = DeadJobs.new(@host, checked_queue(queue))

    # What Hub#key does.
    def key(task, key, queue)
      called = checked_name(task)
      EnqueueOptions.check_key_text(called, key)
      forwarder = Keys.forwarder_of(queue)
      place = forwarder ? { forward: forwarder } : { queue: queue }
      route = route_of(called, place, Clock.now + EnqueueOptions.timeout_s(called, nil))
      key = key.encode(Encoding::UTF_8)
      # Those of merged jobs are in the queue's own place, whatever their text.
      home = route.keyed == "merged" ? route.queue : @placement.home_of(route.queue, route.task, key)
      JobKey.new(@host, home, route.task, key)
    end

    # A job, and what follows it, as it is sent.
    def message_of(steps) = Steps.message(steps, @settings.name)

    # A job that was enqueued before, here or elsewhere.
    def job(id, queue)
      where = queue.nil? ? "" : " in queue #{queue}"
      unknown = NoSuchJob.new("There is no record of job #{id.to_s.scrub[0, 80]}#{where}: it was not tracked, or the record has expired.")
      raise unknown unless Keys.id?(id)

      check_queue(queue)
      found = @host.ask do |connection|
        queues = queue.nil? ? @dispatch.call.jobs.queues : Shards.places(connection, @keys, queue)
        queues.find { |name| connection.one("EXISTS", @keys.queue(name).job(id)) == 1 }
      end
      raise unknown unless found

      status = Job.new(@host, id, found, "").status
      Job.new(@host, id, status.queue, status.task)
    end

    private

    def read(entry)
      raise InvalidArgs, "it must be [task, args, options]." unless entry.is_a?(Array) && entry.size.between?(1, 3)

      task, args, own = entry
      raise InvalidArgs, "its options must be a hash." unless own.nil? || own.is_a?(Hash)
      raise InvalidArgs, "durable is no option of one entry: all are acknowledged together." if own&.key?(:durable)

      [task, entry.size == 1 ? {} : args, own || {}]
    end

    def checked_name(task)
      name = Arguments.name_of(task)
      name.is_a?(String) ? name : raise(NoSuchTask, "The task must be a name like my_task:1.0, or the return value of task.")
    end

    def step_of(route, args, options, whole)
      most = [@settings.max_payload_bytes, route.max_payload_bytes].min
      json = Arguments.encode(whole ? route : route.dup.tap { |open| open.schema = nil }, args, most)
      part, ttl_ms = EnqueueOptions.shape(route.task, json, options, route.keyed, route.scores)
      json = Canonical.text_of(json) if route.keyed == "merged"
      Step.new(id: Ids.make, task: route.task, queue: route.queue, args: json, job: part, ttl_ms: ttl_ms, shards: route.shards)
    end

    def route_of(called, options, finish)
      queue, purpose = EnqueueOptions.place(called, options)
      check_queue(queue)
      @dispatch.call.jobs.route(called, queue, finish, purpose)
    end

    def check_queue(queue) = queue.nil? || checked_queue(queue)

    def checked_queue(queue)
      return queue if Keys.queue_name?(queue)

      raise InvalidArgs, "queue must be the name of a queue, not #{Keys.shown(queue)}."
    end

    def send_now(queue, messages, finish, durable)
      twins = @dispatch.call.jobs.outbox(queue, durable).enqueue(messages, [0.001, finish - Clock.now].max)
      @events.emit("jobs:enqueued", queue: queue, count: messages.size - twins.size, twins: twins.size)
      twins
    end
  end
end
