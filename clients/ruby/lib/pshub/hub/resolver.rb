# frozen_string_literal: true

require_relative "../catalogue/cards"
require_relative "../catalogue/catalogue"
require_relative "../queue/shards"
require_relative "../redis/connection"
require_relative "../redis/failures"
require_relative "../redis/rights_check"
require_relative "../task/schema"
require_relative "../task/task"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/keys"
require_relative "../wire/names"

module Pshub
  # Where a called name leads. +keyed+: how its jobs with the same key are run; nil: they have no keys. +scores+: of merged jobs, which
  # score of equal payloads counts; nil: the later one. +slots+ are those of all live workers that provide it. +shards+: over which its
  # queue is spread, nil: it is not; +live+: those of them that live workers serve, with the slots of these.
  Route = Struct.new(
    :task, :queue, :timeout_s, :idempotent, :keyed, :scores, :max_payload_bytes, :max_backlog, :slots, :schema, :shards, :live,
    keyword_init: true
  )

  # From a called name to the queue that serves it, by the registry. Reads are bounded by what is called: the cards of that name, and
  # the live workers of its queues. Used by one thread.
  class Resolver
    # More of what is kept here is forgotten.
    MAX_KEPT = 10_000
    # Cards of one name, of all versions and queues, that are read at most.
    MAX_CARDS = 1000
    # A queue that was made known is forgotten after a day, when nothing waits there.
    ANNOUNCE_S = 3600
    # Two beats: until then the workers of a task have registered again, where Redis came back without its data.
    REGISTER_S = 2

    def initialize(connection, keys, events)
      @connection = connection
      @keys = keys
      @events = events
      @catalogue = Catalogue.new(keys, events)
      @compiled = {}
      # Purposes and queues for which this user has all rights that it needs.
      @allowed = {}
      # Fields of further queues of tasks that no worker of their first queue provided.
      @elsewhere = {}
      # Queues that were made known, and when.
      @announced_at = {}
      # Tasks that were found, and since when they are missing.
      @missing_since = {}
    end

    # Looks a name up, in all queues or in one. Of several queues with live workers the one counts that had the task first, then the
    # first by name. A job (+purpose+ is +jobs+) goes to a queue without any, too: to the one that had the task first, or to the one that
    # is named. Raises NoSuchTask, NoWorkers, NotEnqueued for a task that has just gone missing, or the connection's error.
    def resolve(called, queue, purpose = :hub)
      wanted = Names.parse_called(called)
      raise NoSuchTask, "'#{called[0, 120]}' is not a task name. Write name:1.0, name:1 or name." unless wanted

      # It leaves the hub: nobody here need know its task.
      return unseen(called, queue) if purpose == :forward

      if wanted.minor
        # Nearly always the task has one card, and this is all that is read of cards.
        further = queue ? [Cards.further_field(called, queue)] : @elsewhere.fetch(called, [])
        route = live_of(cards([called, *further]), queue, purpose)
        return route if route
      end
      known = @catalogue.task_fields(@connection)
      fields = fields_of(wanted, known)
      found = cards(fields.first(MAX_CARDS))
      route = live_of(found, queue, purpose)
      check_missing(called, wanted, known) if found.empty?
      return resting_place(called, wanted, found, queue, known) if route.nil? && purpose == :jobs

      raise found.empty? ? no_such_task(called, wanted.name, known) : no_workers(called, found, queue) unless route

      keep(@elsewhere, called, fields - [called]) if wanted.minor
      route
    end

    private

    def keep(kept, key, value)
      kept.clear if kept.size >= MAX_KEPT
      kept[key] = value
    end

    def cards(fields)
      found = @catalogue.task_cards(@connection, fields)
      found.each { |card| keep(@missing_since, card.task, nil) }
    end

    # A task that this hub has found before is not unknown at once: its workers may not have registered again yet.
    def check_missing(called, wanted, known)
      gone = (@missing_since.keys - known.map(&:task)).map { |task| TaskField.new(task, task) }
      found = fields_of(wanted, gone).each { |task| @missing_since[task] ||= Clock.now }
      return if found.all? { |task| Clock.now - @missing_since[task] >= REGISTER_S }

      raise NotEnqueued.new("The registry has lost #{called}; Redis may have restarted without its data. " \
                            "Try again: workers register again within #{REGISTER_S} s.", task: called)
    end

    # Fields of all cards that a name may mean: newest version first, in each the queue that had it first, then by name.
    def fields_of(wanted, known)
      meant = known.filter_map do |field|
        version = Names.try_parse(field.task)
        fits = version && version.name == wanted.name && [nil, version.major].include?(wanted.major) &&
               [nil, version.minor].include?(wanted.minor)
        [[*Names.newest_first(version), field.queue.to_s], field.field] if fits
      end
      meant.sort_by(&:first).map(&:last)
    end

    # Where jobs of a task wait that nobody serves at the moment.
    def resting_place(called, wanted, cards, queue, known)
      card = cards.find { |each| Keys.queue_name?(each.queue) && [nil, each.queue].include?(queue) }
      if card
        check_rights(card.task, card.queue, :jobs)
        return spread(route_of(card, 0))
      end
      raise no_such_task(called, wanted.name, known, " To let the job wait for a worker, pass the queue.") if queue.nil?

      unless wanted.minor
        full = "#{wanted.name}:1.0"
        raise NoSuchTask.new("Queue #{queue} has no #{called} yet: write the version in full, #{full}.", task: called)
      end
      unseen(called, queue)
    end

    # Of a task that has no card: nothing of it is checked here.
    def unseen(called, queue)
      check_rights(called, queue, :jobs)
      announce(queue)
      spread(Route.new(task: called, queue: queue, timeout_s: Task::DEFAULT_TIMEOUT_S, idempotent: false,
                       max_payload_bytes: Float::INFINITY, max_backlog: Float::INFINITY, slots: 0))
    end

    # So that workers of all queues find it: no card tells of it yet. A user without that right enqueues all the same.
    def announce(queue)
      return if Clock.now < @announced_at.fetch(queue, -Float::INFINITY) + ANNOUNCE_S

      @connection.one("ZADD", @keys.queues, @connection.at(@keys.queues).now_ms, queue)
      keep(@announced_at, queue, Clock.now)
    rescue ReplyError
      nil
    end

    # The first of these that a live worker provides. A queue that this user may not use only counts where there is no other.
    def live_of(cards, queue, purpose = :hub)
      refused = nil
      cards.select { |card| Keys.queue_name?(card.queue) && [nil, card.queue].include?(queue) }.each do |card|
        slots = @catalogue.slots(@connection, card.queue, card.task)
        next if slots.zero?

        check_rights(card.task, card.queue, purpose)
        return spread(route_of(card, slots), calls: purpose == :hub)
      rescue HubError, ReplyError => e
        raise if e.is_a?(ReplyError) && e.passing?

        refused ||= e
      end
      raise refused if refused
    end

    def no_such_task(called, name, known, more = "")
      all = known.map(&:task).uniq
      if all.include?(called)
        return NoSuchTask.new("The registry has no readable card of #{called}. If a worker has just started, call again. " \
                              "Its workers write the card when they start.#{more}", task: called)
      end
      versions = all.select { |full| full.start_with?("#{name}:") }.sort
      unless versions.empty?
        return NoSuchTask.new("There is no #{called}. Known versions: #{versions.join(', ')}.#{more}", task: called)
      end

      NoSuchTask.new("No worker ever declared #{called}. #{hint(called, all)}#{more}", task: called)
    end

    def hint(called, known)
      near = Names.near(called, known)
      return "Did you mean #{near.join(' or ')}?" unless near.empty?

      known.empty? ? "No worker has declared any task in this namespace yet." : "'pshub tasks' lists all tasks."
    end

    def no_workers(called, cards, queue)
      queues = cards.map(&:queue).uniq.join(", ")
      if queue.nil?
        start = "Start one: pshub-worker-rb <file> --queue #{queues}"
        return NoWorkers.new("No live worker provides #{cards.map(&:task).uniq.join(', ')}. #{start}", task: called)
      end

      elsewhere = live_of(cards, nil)
      where = elsewhere ? "It is served in queue #{elsewhere.queue}." : "No other queue has a live worker for it either; it is known in: #{queues}."
      NoWorkers.new("No live worker of queue #{queue} provides #{called}. #{where}", task: called)
    end

    # Once per queue and purpose: what this user may not do there. Else one who may push, but not read its replies, would have everything run
    # and hear only of timeouts.
    def check_rights(task, queue, purpose)
      return if @allowed[[purpose, queue]]

      lacks = missing_rights(queue, purpose)
      if lacks
        what = purpose == :hub ? "call tasks of" : "enqueue jobs in"
        raise NotEnqueued.new("The Redis user may not #{what} queue #{queue}: it lacks #{lacks}. " \
                              "See 'pshub check --for #{purpose}'.", task: task)
      end
      keep(@allowed, [purpose, queue], true)
    end

    def missing_rights(queue, purpose)
      RightsCheck.missing(@connection.at(@keys.queue(queue).calls), purpose, @keys, queue)
    rescue ReplyError => e
      # A server that cannot tell refuses in time what it refuses.
      raise if e.passing?

      nil
    end

    # Says of a route how its queue is spread.
    def spread(route, calls: false)
      route.live = {}
      shards = Shards.of(@connection, @keys, route.queue)
      return route unless shards&.spread?

      route.shards = shards
      counts = shards.open.to_h { |name| [name, name == route.queue ? route.slots : slots_of(name, route.task)] } if calls
      route.live = counts.select { |_, slots| slots.positive? } if calls
      route
    end

    # A shard whose node is away is none that is live.
    def slots_of(shard, task)
      @catalogue.slots(@connection, shard, task)
    rescue *Connection::PROBLEMS
      0
    end

    def route_of(card, slots)
      Route.new(
        task: card.task, queue: card.queue, timeout_s: card.timeout_s, idempotent: card.idempotent, keyed: card.keyed, scores: card.scores,
        max_payload_bytes: card.max_payload_bytes, max_backlog: card.max_backlog, slots: slots, schema: schema_of(card)
      )
    end

    # Reads a card's schema once. What cannot be used is told once; the worker's verdict counts then.
    def schema_of(card)
      return nil if card.args.nil?

      args, schema = @compiled[card.task]
      return schema if args == card.args

      begin
        schema = Schema.foreign(card.args)
      rescue Schema::Unusable => e
        schema = nil
        @events.emit("schema:unused", task: card.task, reason: e.message)
      end
      keep(@compiled, card.task, [card.args, schema])
      schema
    end
  end
end
