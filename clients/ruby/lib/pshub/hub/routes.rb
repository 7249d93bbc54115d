# frozen_string_literal: true

require_relative "../redis/connections"
require_relative "../redis/failures"
require_relative "../redis/refusals"
require_relative "../wire/clock"
require_relative "../wire/errors"

module Pshub
  # Where tasks run, as far as it is known. What is known is used at once and renewed behind the call; the registry is only waited
  # for when a name is new, by a thread of its own, so that no caller waits longer than it wants to. A name is kept with the queue
  # that the call names, if any, and whether it is for a call (+hub+) or a job (+jobs+).
  class Routes
    # A route is used without asking again for this long, and a little longer while a fresh one is under way.
    FRESH_S = 1.0
    STALE_S = 2.0
    # On a Cluster the registry may be at a node that says nothing, and the queue at one that serves: until that is noticed.
    STALE_APART_S = STALE_S + Connections::STALL_S
    # Unknown names are looked up at most this often.
    MISS_S = 0.1
    RETRY_S = 0.01
    MAX_ROUTES = 10_000

    Cached = Struct.new(:route, :at)
    Miss = Struct.new(:error, :at)

    # Redis could not be asked.
    def self.unasked(called, reason)
      NotEnqueued.new("The hub could not look up #{called} in Redis: #{Refusals.explained(reason)}.", task: called)
    end

    def initialize(connection, resolver, closing)
      @connection = connection
      @resolver = resolver
      @closing = closing
      @lock = Mutex.new
      @asked = Clock.condition
      @routes = {}
      @misses = {}
      # What to look up, each [called name, queue, purpose], and who waits for it: [deadline, block].
      @wanted = {}
    end

    # The route when it may be used at once; looks again behind it when the last look was a while ago.
    def known(called, queue, purpose = :hub)
      place = [called, queue, purpose]
      cached = @routes[place] or return nil
      age = Clock.now - cached.at
      want(place) if age > FRESH_S
      cached.route if age <= (@connection.spread? ? STALE_APART_S : STALE_S)
    end

    # Yields a Route, or a HubError, on another thread: NoSuchTask, NoWorkers, or NotEnqueued when Redis could not be asked until
    # +deadline+; while Redis is away an old route is better than none.
    def find(called, queue, deadline, purpose = :hub, &block) = want([called, queue, purpose], [deadline, block])

    def start = @thread = Thread.new { serve }

    def stop
      @lock.synchronize { @asked.broadcast }
      @thread&.join(Connections::STALL_S + 1)
    end

    private

    def want(place, waiter = nil)
      @lock.synchronize do
        waiters = @wanted[place] ||= []
        waiters << waiter if waiter
        @asked.signal
      end
    end

    def serve
      until @closing.set?
        place = @lock.synchronize do
          @asked.wait(@lock) while @wanted.empty? && !@closing.set?
          @wanted.keys.first
        end
        answer(place) if place
      end
      waiters = @lock.synchronize { @wanted.each_value.to_a.flatten(1) }
      waiters.each { |_, block| block.call(HubClosed.new) }
    end

    def answer(place)
      outcome = look_up(place)
      unless outcome.is_a?(String)
        return @lock.synchronize { @wanted.delete(place) }.each { |_, block| block.call(outcome) }
      end

      reason = @connection.down_reason || outcome
      give_up(place).each { |at, block| block.call(@routes[at]&.route || Routes.unasked(at.first, reason)) }
      @closing.wait(RETRY_S)
    end

    # Whose time is up, wherever they wait, as pairs of place and block: they are not kept until Redis is back. What nobody waits for
    # is forgotten, and the place that was asked for goes behind the others.
    def give_up(asked)
      now = Clock.now
      @lock.synchronize do
        over = []
        @wanted = [*@wanted.except(asked), [asked, @wanted[asked]]].to_h.filter_map do |place, waiters|
          late, waiting = waiters.partition { |deadline, _| now >= deadline }
          over.concat(late.map { |_, block| [place, block] })
          [place, waiting] unless waiting.empty?
        end.to_h
        over
      end
    end

    # A Route, a HubError, or as text why Redis could not be asked.
    def look_up(place)
      miss = @misses[place]
      return miss.error if miss && Clock.now - miss.at < MISS_S

      route = @resolver.resolve(*place)
      @misses.delete(place)
      @routes.clear if @routes.size >= MAX_ROUTES
      @routes[place] = Cached.new(route, Clock.now)
      route
    rescue HubError => e
      @routes.delete(place)
      @misses.clear if @misses.size >= MAX_ROUTES
      @misses[place] = Miss.new(e, Clock.now)
      e
    rescue NotConnected, ConnectionLost => e
      cached = @routes[place] if @connection.spread?
      return Errors.message_of(e) unless cached

      # The registry is at another server than the queue: that goes on being served as it was.
      cached.at = Clock.now
      cached.route
    rescue ReplyError => e
      e.passing? ? e.message : Routes.unasked(place.first, e.message)
    rescue StandardError => e
      # Whatever somebody put into the registry must not end this thread.
      Errors.message_of(e)
    end
  end
end
