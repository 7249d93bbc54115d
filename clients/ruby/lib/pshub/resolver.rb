# frozen_string_literal: true

module Pshub
  # Where a called name leads. +slots+ are those of all live workers that provide it.
  Route = Struct.new(
    :task, :queue, :timeout_s, :idempotent, :max_payload_bytes, :max_backlog, :slots, :schema, keyword_init: true
  )

  # From a called name to the queue that serves it. What is known is answered at once and renewed behind the call; the registry is
  # only waited for when a name is new, by a thread of its own, so that no caller waits longer than it wants to.
  class Resolver
    # A route is used without asking again for this long, and a little longer while a fresh one is under way.
    FRESH_S = 1.0
    STALE_S = 2.0
    # Unknown names are looked up at most this often.
    MISS_S = 0.1
    RETRY_S = 0.01
    MAX_ROUTES = 10_000

    Cached = Struct.new(:route, :at)
    Miss = Struct.new(:error, :at)

    def initialize(connection, keys, events, closing)
      @connection = connection
      @keys = keys
      @events = events
      @closing = closing
      @catalogue = Catalogue.new(keys)
      @providers = Providers.new(@catalogue)
      @lock = Mutex.new
      @asked = ConditionVariable.new
      @routes = {}
      @misses = {}
      # Called names to look up, and who waits for each: [deadline, block].
      @wanted = {}
      @compiled = {}
      # Queues where this user has all rights that a caller needs.
      @allowed = {}
    end

    # The route when it may be used at once; looks again behind it when the last look was a while ago.
    def known(called)
      cached = @routes[called] or return nil
      age = Clock.now - cached.at
      want(called) if age > FRESH_S
      cached.route if age <= STALE_S
    end

    # Yields a Route, or a HubError, on another thread: NoSuchTask, NoWorkers, or NotEnqueued when Redis could not be asked until
    # +deadline+; while Redis is away an old route is better than none.
    def find(called, deadline, &block) = want(called, [deadline, block])

    def start = @thread = Thread.new { serve }

    def stop
      @lock.synchronize { @asked.broadcast }
      @thread&.join(Connection::STALL_S + 1)
    end

    private

    def want(called, waiter = nil)
      @lock.synchronize do
        waiters = @wanted[called] ||= []
        waiters << waiter if waiter
        @asked.signal
      end
    end

    def serve
      until @closing.set?
        called = @lock.synchronize do
          @asked.wait(@lock) while @wanted.empty? && !@closing.set?
          @wanted.keys.first
        end
        answer(called) if called
      end
      waiters = @lock.synchronize { @wanted.each_value.to_a.flatten(1) }
      waiters.each { |_, block| block.call(HubClosed.new) }
    end

    def answer(called)
      outcome = look_up(called)
      if outcome.is_a?(String)
        over = give_up(called)
        cached = @routes[called]
        outcome = cached && !@closing.set? ? cached.route : unasked(called, @connection.down_reason || outcome)
        @closing.wait(RETRY_S)
      else
        over = @lock.synchronize { @wanted.delete(called) }
      end
      over.each { |_, block| block.call(outcome) }
    end

    # Those that wait no longer; a name that nobody waits for is forgotten.
    def give_up(called)
      @lock.synchronize do
        over, waiting = @wanted[called].partition { |deadline, _| Clock.now >= deadline }
        waiting.empty? ? @wanted.delete(called) : @wanted[called] = waiting
        over
      end
    end

    # A Route, a HubError, or as text why Redis could not be asked.
    def look_up(called)
      miss = @misses[called]
      return miss.error if miss && Clock.now - miss.at < MISS_S

      route = route_to(called)
      @misses.delete(called)
      @routes.clear if @routes.size >= MAX_ROUTES
      @routes[called] = Cached.new(route, Clock.now)
      route
    rescue HubError => e
      @routes.delete(called)
      @misses.clear if @misses.size >= MAX_ROUTES
      @misses[called] = Miss.new(e, Clock.now)
      e
    rescue ReplyError => e
      e.passing? ? e.message : unasked(called, e.message)
    rescue StandardError => e
      # Whatever somebody put into the registry must not end this thread.
      Errors.message_of(e)
    end

    def route_to(called)
      wanted = Names.parse_called(called)
      raise NoSuchTask, "#{called[0, 120].inspect} is not a task name. Write name:1.0, name:1 or name." unless wanted

      names = wanted.minor ? [called] : versions_of(wanted)
      cards = @catalogue.task_cards(@connection, names).to_h { |card| [card.task, card] }
      raise no_such_task(called, wanted.name) if cards.empty?

      names.filter_map { |name| cards[name] }.select { |card| Keys.queue_name?(card.queue) }.each do |card|
        slots = @providers.slots(@connection, @keys.queue(card.queue).leases, card.task)
        check_rights(card)
        return route_of(card, slots) if slots.positive?
      end
      raise NoWorkers.new(
        "No live worker provides #{wanted.minor ? called : names.join(', ')}. " \
        "Start one: pshub-worker <file> --queue #{cards.values.map(&:queue).uniq.sort.join(', ')}", task: called
      )
    end

    # Declared versions within what the caller allows, newest first.
    def versions_of(wanted)
      fitting = @catalogue.task_names(@connection).filter_map { |full| Names.try_parse(full) }.select do |name|
        name.name == wanted.name && (wanted.major.nil? || wanted.major == name.major)
      end
      Names.newest_first(fitting).map(&:full)
    end

    def no_such_task(called, name)
      known = @catalogue.task_names(@connection)
      versions = known.select { |full| full.start_with?("#{name}:") }.sort
      unless versions.empty?
        return NoSuchTask.new("There is no #{called}. Known versions: #{versions.join(', ')}.", task: called)
      end

      NoSuchTask.new("No worker ever declared #{called}. #{hint(called, known)}", task: called)
    end

    def hint(called, known)
      near = Names.near(called, known)
      return "Did you mean #{near.join(' or ')}?" unless near.empty?

      known.empty? ? "No worker has declared any task in this namespace yet." : "See 'pshub tasks' for those that are."
    end

    # Once per queue: what this user may not do there. Else one who may push, but not read its replies, would have everything run
    # and hear only of timeouts.
    def check_rights(card)
      return if @allowed[card.queue]

      lacks = missing_rights(card.queue)
      if lacks
        raise NotEnqueued.new("The Redis user may not call tasks of queue #{card.queue}: it lacks #{lacks}. " \
                              "See 'pshub check --for hub'.", task: card.task)
      end
      @allowed[card.queue] = true
    end

    def missing_rights(queue)
      Rights.missing(@connection, :hub, @keys, queue)
    rescue ReplyError => e
      # A server that cannot tell refuses in time what it refuses.
      raise if e.passing?

      nil
    end

    def route_of(card, slots)
      Route.new(
        task: card.task, queue: card.queue, timeout_s: card.timeout_s, idempotent: card.idempotent,
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
      @compiled.clear if @compiled.size >= MAX_ROUTES
      @compiled[card.task] = [card.args, schema]
      schema
    end

    def unasked(called, reason)
      NotEnqueued.new("Redis could not be asked where #{called} runs: #{Errors.explained(reason)}.", task: called)
    end
  end
end
