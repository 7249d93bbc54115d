# frozen_string_literal: true

require_relative "../catalogue/catalogue"
require_relative "../jobs/job_outbox"
require_relative "../queue/job_queue"
require_relative "../redis/connection"
require_relative "../redis/connections"
require_relative "../redis/failures"
require_relative "../redis/refusals"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/keys"
require_relative "job_host"
require_relative "resolver"
require_relative "routes"

module Pshub
  # What a hub in one process has for jobs beside what it has for calls: outboxes of their own, and who waits for which of them. Made
  # anew after a fork.
  class JobLinks
    CLOSED = "This hub was closed; make a new one."
    # How long what is no call waits for Redis.
    ASK_PATIENCE_S = 2.0

    attr_reader :ears

    def initialize(hub_id, keys, connection, routes, events, closing)
      @hub_id = hub_id
      @keys = keys
      @connection = connection
      @routes = routes
      @catalogue = Catalogue.new(keys, events)
      @closing = closing
      @lock = Mutex.new
      @outboxes = {}
      @ears = Ears.new
    end

    # Yields the connection for what is no call. +otherwise+ begins the message of the error. Raises NotEnqueued, HubClosed.
    def ask(otherwise, change: false)
      ready = @connection.wait_ready(@closing, ASK_PATIENCE_S)
      raise HubClosed, CLOSED if @closing.set?
      raise NotConnected, @connection.down_reason || "no answer in time" unless ready

      yield @connection
    rescue *Connection::PROBLEMS => e
      raise HubClosed, CLOSED if @closing.set?

      why = Refusals.explained(Errors.message_of(e))
      raise OutcomeUnknown, "#{otherwise}, or it was and the reply was lost: #{why}." if change && e.is_a?(ConnectionLost)

      raise NotEnqueued, "#{otherwise}: #{why}."
    end

    # Where a job goes. Raises NoSuchTask, NotEnqueued, HubClosed.
    def route(called, queue, finish, purpose = :jobs)
      raise HubClosed, CLOSED if @closing.set?

      known = @routes.known(called, queue, purpose)
      return known if known

      answer = Ear.new
      @routes.find(called, queue, finish, purpose) { |found| answer.hear(found) }
      found = answer.wait([0, finish - Clock.now].max) || Routes.unasked(called, @connection.down_reason || "no answer in time")
      found.is_a?(Route) ? found : raise(found)
    end

    # All queues that tasks are known in, or jobs were put into, by name.
    def queues
      fields = @catalogue.task_fields(@connection).map(&:field)
      names = @catalogue.task_cards(@connection, fields).map(&:queue) + named_queues
      names.uniq.select { |name| Keys.queue_name?(name) }
    end

    def named_queues
      @connection.one("ZRANGE", @keys.queues, -Resolver::MAX_CARDS, -1)
    rescue ReplyError
      []
    end

    # Jobs that are to be confirmed by a replica have numbers and a connection of their own, made with the first of them: WAIT holds up all that
    # is sent behind it.
    def outbox(name, durable)
      @lock.synchronize do
        raise HubClosed, CLOSED if @closing.set?

        @durable ||= Connections.durable(@connection) if durable
        @outboxes[[name, durable]] ||= begin
          here = (durable ? @durable : @connection).at(@keys.queue(name).jobs).without_waiting
          JobOutbox.new(here, JobQueue.new(name, @keys), id_of(durable), @closing, durable: durable).tap(&:start)
        end
      end
    end

    # Once +closing+ is set.
    def stop
      @ears.close
      @lock.synchronize { @outboxes.values }.each(&:stop)
      @durable&.close
    end

    # Numbers of batches that this hub may have left in Redis.
    def used_keys
      @outboxes.select { |_, outbox| outbox.used? }.keys.map { |name, durable| @keys.queue(name).enqueued(id_of(durable)) }
    end

    private

    # As whom a hub numbers them: a repeat of the one kind must not be taken for one of the other.
    def id_of(durable) = durable ? "#{@hub_id}-durable" : @hub_id
  end
end
