# frozen_string_literal: true

require_relative "../redis/failures"
require_relative "../wire/foreign"
require_relative "../wire/payload"
require_relative "cards"

module Pshub
  # The one reader of the registry, for callers and workers. What is read was written by others and may be anything: what cannot be
  # read counts as absent and is told once. PROTOCOL.md, section 11.
  class Catalogue
    # Statistics read at a time: nearly always the first worker looked at takes calls.
    STATS_PAGE = 8
    # Ids of live workers that a look reads: those of more are only counted.
    LIVE_PAGE = 64
    # Fields of a hash read at a time, so that no answer is unbounded.
    PAGE = 200
    # What is longer is not even fetched; no record that can be read takes so many bytes.
    MAX_BYTES = 4 * Foreign::MAX_RECORD
    # Cards of workers that are kept; an identity is seen once and its worker may be long gone.
    MAX_CARDS = 10_000
    MAX_TOLD = 1000

    def initialize(keys, events)
      @keys = keys
      @events = events
      # What a worker provides never changes under its id, so a card is read once.
      @workers = {}
      # From which place on hashes are read next that are read a page at a time, round and round.
      @places = {}
      @told = {}
    end

    # Where there are cards of tasks.
    def task_fields(connection) = ask(connection, "HKEYS", @keys.tasks).map { |raw| Cards.field(raw) }

    # The cards in these fields; those that are missing or cannot be read are left out.
    def task_cards(connection, fields) = pick(connection, @keys.tasks, fields, Cards.method(:task)).compact

    # Slots of the workers that take requests for a task in a queue at the moment, together; 0 without any. These are the workers
    # whose lease holds, that list the task on their card, and that are not draining: the one place that decides it. Of a queue of
    # more workers than are looked at this is an estimate, by the share of them that provide the task.
    def slots(connection, queue, task)
      now_ms = connection.at(@keys.queue(queue).leases).now_ms
      some = live_ids(connection, queue, now_ms, "LIMIT", 0, LIVE_PAGE)
      slots = slots_of(connection, some, task)
      return slots if some.size < LIVE_PAGE
      # Of a large queue some stand for all; where none of them will do one of the others may, and only that matters then.
      return slots_of(connection, live_ids(connection, queue, now_ms), task) if slots.zero?

      count = connection.one("ZCOUNT", @keys.queue(queue).leases, now_ms, "+inf")
      (slots * [count, some.size].max).fdiv(some.size).round
    end

    # The workers that take requests in a queue at the moment.
    def providers(connection, queue)
      serving(connection, cards(connection, live_ids(connection, queue, connection.at(@keys.queue(queue).leases).now_ms)))
    end

    # The next page of the cards of tasks, by their fields.
    def some_tasks(connection) = some(connection, @keys.tasks, Cards.method(:task)).last

    # How many workers have statistics, and the next page of these by id.
    def some_stats(connection) = some(connection, @keys.stats, Cards.method(:stats))

    private

    def slots_of(connection, ids, task)
      able = cards(connection, ids).select { |card| card.tasks.key?(task) }
      # One that takes calls is enough to know: others that drain make the sum too large while they leave.
      takes = able.each_slice(STATS_PAGE).any? { |page| serving(connection, page).any? }
      takes ? able.sum { |card| [1, card.slots].max } : 0
    end

    def live_ids(connection, queue, now_ms, *limit)
      ask(connection, "ZRANGEBYSCORE", @keys.queue(queue).leases, now_ms, "+inf", *limit)
    end

    def cards(connection, ids)
      @workers.clear if @workers.size > MAX_CARDS
      unread = ids.reject { |id| @workers.key?(id) }
      pick(connection, @keys.workers, unread, Cards.method(:worker)).compact.each { |card| @workers[card.id] = card }
      ids.filter_map { |id| @workers[id] }
    end

    # How many fields a hash has, and the next page of them, anywhere at first: others read it, too.
    def some(connection, key, read)
      fields = ask(connection, "HKEYS", key)
      place = @places.fetch(key) { (rand * fields.size).to_i }
      from = fields.size <= PAGE || place >= fields.size ? 0 : place
      @places[key] = from + PAGE
      page = fields[from, PAGE]
      [fields.size, page.zip(pick(connection, key, page, read)).to_h.compact]
    end

    # A worker may do without statistics; then nobody can know better.
    def serving(connection, workers)
      workers.zip(stats_of(connection, workers)).reject { |_, each| each&.draining }.map(&:first)
    end

    def stats_of(connection, workers)
      pick(connection, @keys.stats, workers.map(&:id), Cards.method(:stats))
    rescue NotConnected, ConnectionLost
      # Their server may be away where that of the queue is not.
      raise unless connection.spread?

      []
    end

    # Fields of a hash, in their order; nil for what is missing or cannot be read. Asked for their lengths first: one field of many
    # megabytes would hold up all that this connection is for.
    def pick(connection, key, fields, read)
      return [] if fields.empty?

      lengths = fields.zip(connection.run(*fields.map { |field| ["HSTRLEN", key, field] })).to_h
      long, fitting = fields.partition { |field| lengths[field].is_a?(Integer) && lengths[field] > MAX_BYTES }
      long.each { |field| tell(key, "it is longer than #{MAX_BYTES} bytes", Payload.utf8(field).scrub[0, Foreign::MAX_NAME]) }
      texts = fitting.empty? ? {} : fitting.zip(ask(connection, "HMGET", key, *fitting)).to_h
      fields.map { |field| texts[field] && read_one(key, field, texts[field], read) }
    end

    def read_one(key, field, text, read)
      name = Payload.utf8(field).scrub
      read.call(text, name)
    rescue Foreign::Unreadable => e
      tell(key, e.message, name[0, Foreign::MAX_NAME])
      nil
    end

    # Sends a command about one key. Of one that is of another type there is nothing to read, which hurts nobody else.
    def ask(connection, *command)
      connection.one(*command)
    rescue ReplyError => e
      raise unless e.code == "WRONGTYPE"

      tell(command[1], "it has another type (WRONGTYPE)")
      []
    end

    def tell(key, reason, field = nil)
      return if @told.key?([key, field]) || @told.size >= MAX_TOLD

      @told[[key, field]] = true
      @events.emit("registry:unreadable", **{ key: key, field: field, reason: reason }.compact)
    end
  end
end
