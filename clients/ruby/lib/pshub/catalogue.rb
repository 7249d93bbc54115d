# frozen_string_literal: true

module Pshub
  # The one reader of the registry, for callers and workers. What is read was written by others and may be anything: what cannot be
  # read counts as absent and is told once. PROTOCOL.md, section 11.
  class Catalogue
    # Statistics read at a time: nearly always the first worker looked at takes calls.
    STATS_PAGE = 8
    SCAN_PAGE = 200
    # Cards of workers that are kept; an identity is seen once and its worker may be long gone.
    MAX_CARDS = 10_000
    MAX_TOLD = 1000

    def initialize(keys, events)
      @keys = keys
      @events = events
      # What a worker provides never changes under its id, so a card is read once.
      @workers = {}
      @told = {}
    end

    # Where there are cards of tasks.
    def task_fields(connection) = ask(connection, [], "HKEYS", @keys.tasks).map { |raw| Cards.field(raw) }

    # The cards in these fields; those that are missing or cannot be read are left out.
    def task_cards(connection, fields) = pick(connection, @keys.tasks, fields, Cards.method(:task)).compact

    # Slots of the workers that take requests for a task in a queue at the moment, together; 0 without any. These are the workers
    # whose lease holds, that list the task on their card, and that are not draining: the one place that decides it.
    def slots(connection, queue, task)
      able = live(connection, queue).select { |card| card.tasks.key?(task) }
      # One that takes calls is enough to know: others that drain make the sum too large while they leave.
      takes = able.each_slice(STATS_PAGE).any? { |page| serving(connection, page).any? }
      takes ? able.sum { |card| [1, card.slots].max } : 0
    end

    # The workers that take requests in a queue at the moment.
    def providers(connection, queue) = serving(connection, live(connection, queue))

    # All that can be read of a hash, by its fields, page by page. +read+ gets a text and its field.
    def all(connection, key, read)
      found = {}
      cursor = "0"
      loop do
        cursor, flat = ask(connection, ["0", []], "HSCAN", key, cursor, "COUNT", SCAN_PAGE)
        # A page may repeat what another one had.
        flat.each_slice(2) { |field, text| found[field] = read_one(key, field, text, read) unless found.key?(field) }
        return found.compact if cursor == "0"
      end
    end

    private

    def live(connection, queue)
      ids = ask(connection, [], "ZRANGEBYSCORE", @keys.queue(queue).leases, now_ms(connection), "+inf")
      @workers.clear if @workers.size > MAX_CARDS
      unread = ids.reject { |id| @workers.key?(id) }
      pick(connection, @keys.workers, unread, Cards.method(:worker)).compact.each { |card| @workers[card.id] = card }
      ids.filter_map { |id| @workers[id] }
    end

    # A worker may do without statistics; then nobody can know better.
    def serving(connection, workers)
      stats = pick(connection, @keys.stats, workers.map(&:id), Cards.method(:stats))
      workers.zip(stats).reject { |_, each| each&.draining }.map(&:first)
    end

    def now_ms(connection)
      seconds, micros = connection.one("TIME")
      (seconds.to_i * 1000) + (micros.to_i / 1000)
    end

    # Fields of a hash, in their order; nil for what is missing or cannot be read.
    def pick(connection, key, fields, read)
      return [] if fields.empty?

      texts = ask(connection, [], "HMGET", key, *fields)
      fields.zip(texts).map { |field, text| text && read_one(key, field, text, read) }
    end

    def read_one(key, field, text, read)
      name = Payload.utf8(field).scrub
      read.call(text, name)
    rescue Foreign::Unreadable => e
      tell(key, e.message, name[0, Foreign::MAX_NAME])
      nil
    end

    # Sends a command about one key. Of one that is of another type there is nothing to read, which hurts nobody else.
    def ask(connection, nothing, *command)
      connection.one(*command)
    rescue ReplyError => e
      raise unless e.code == "WRONGTYPE"

      tell(command[1], "it is of another type (WRONGTYPE)")
      nothing
    end

    def tell(key, reason, field = nil)
      return if @told.key?([key, field]) || @told.size >= MAX_TOLD

      @told[[key, field]] = true
      @events.emit("registry:unreadable", **{ key: key, field: field, reason: reason }.compact)
    end
  end
end
