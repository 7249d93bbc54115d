# frozen_string_literal: true

module Pshub
  TaskCard = Struct.new(:task, :queue, :timeout_s, :idempotent, :args, :max_payload_bytes, :max_backlog)
  WorkerCard = Struct.new(:id, :slots, :tasks, :who)

  # The registry: hashes of JSON cards. What is read was written by others and may be anything. PROTOCOL.md, section 11.
  class Catalogue
    # Cards are rewritten this often, and go when none of their workers did so for a day.
    REPUBLISH_MS = 10 * 60_000
    FORGET_TASK_S = 24 * 3600
    FORGET_WORKER_MS = 3_600_000

    attr_reader :keys

    def initialize(keys)
      @keys = keys
    end

    def self.object(text)
      value = text && JSON.parse(Payload.utf8(text).scrub)
      value if value.is_a?(Hash)
    rescue JSON::JSONError
      nil
    end

    def self.positive(value, fallback) = value.is_a?(Numeric) && value.positive? ? value : fallback

    # nil for what is none.
    def self.task_card(text)
      card = object(text)
      return nil unless card && card["task"].is_a?(String) && card["queue"].is_a?(String)

      TaskCard.new(
        card["task"], card["queue"], positive(card["timeoutMs"], 5000) / 1000.0, card["idempotent"] == true, card["args"],
        positive(card["maxPayloadBytes"], Float::INFINITY), positive(card["maxBacklog"], Float::INFINITY)
      )
    end

    def self.worker_card(text)
      card = object(text)
      return nil unless card && card["id"].is_a?(String) && card["queue"].is_a?(String)

      tasks = card["tasks"].is_a?(Hash) ? card["tasks"] : {}
      WorkerCard.new(card["id"], [positive(card["slots"], 0), 1e6].min.to_i, tasks, "#{card['host']}/#{card['pid']}")
    end

    def task_names(connection) = connection.one("HKEYS", @keys.tasks).map { |name| Payload.utf8(name).scrub }

    # Those that are missing or malformed are left out.
    def task_cards(connection, names)
      return [] if names.empty?

      connection.one("HMGET", @keys.tasks, *names).filter_map { |text| Catalogue.task_card(text) }
    end

    # Ids of workers whose lease has not ended, on Redis' clock.
    def live_ids(connection, leases)
      seconds, micros = connection.one("TIME")
      now_ms = (seconds.to_i * 1000) + (micros.to_i / 1000)
      connection.one("ZRANGEBYSCORE", leases, now_ms, "+inf")
    end

    def worker_cards(connection, ids)
      return [] if ids.empty?

      connection.one("HMGET", @keys.workers, *ids).filter_map { |text| Catalogue.worker_card(text) }
    end

    # For each id, whether its worker leaves; one without statistics does not.
    def draining(connection, ids)
      connection.one("HMGET", @keys.stats, *ids).map { |text| (Catalogue.object(text) || {})["draining"] == true }
    end

    def remove_workers(connection, ids)
      return if ids.empty?

      hashes = [@keys.workers, @keys.stats, @keys.task_stats, @keys.slow, @keys.failures]
      connection.run(*hashes.map { |key| ["HDEL", key, *ids] })
    end

    # Removes cards of tasks that nobody published for a day and of workers that are long gone.
    def sweep(connection, now_ms)
      stale = scan(connection, @keys.tasks).reject { |_, text| fresh_task?(text, now_ms) }.map(&:first)
      connection.one("HDEL", @keys.tasks, *stale) unless stale.empty?
      gone = scan(connection, @keys.stats).reject { |_, text| fresh_worker?(text, now_ms) }.map(&:first)
      remove_workers(connection, gone)
    end

    private

    def fresh_task?(text, now_ms)
      at = Catalogue.task_card(text) && Catalogue.object(text)["at"]
      at.is_a?(Numeric) && (now_ms / 1000) - at <= FORGET_TASK_S
    end

    def fresh_worker?(text, now_ms)
      seen = (Catalogue.object(text) || {})["seen"]
      seen.is_a?(Numeric) && now_ms - seen <= FORGET_WORKER_MS
    end

    def scan(connection, key)
      found = []
      cursor = "0"
      loop do
        cursor, flat = connection.one("HSCAN", key, cursor, "COUNT", 200)
        found.concat(flat.each_slice(2).to_a)
        return found if cursor == "0"
      end
    end
  end

  # Who takes requests for a task at the moment: workers with a lease that list it on their card and do not drain.
  class Providers
    # Statistics read at a time: nearly always the first worker looked at takes calls.
    STATS_PAGE = 8
    MAX_CARDS = 10_000

    def initialize(catalogue)
      @catalogue = catalogue
      # What a worker provides never changes under its id, so a card is read once.
      @cards = {}
    end

    # Their slots together; 0 without any.
    def slots(connection, leases, task)
      ids = @catalogue.live_ids(connection, leases)
      @cards.clear if @cards.size > MAX_CARDS
      @catalogue.worker_cards(connection, ids.reject { |id| @cards.key?(id) }).each { |card| @cards[card.id] = card }
      providers = ids.filter_map { |id| @cards[id] }.select { |card| card.tasks.key?(task) }
      # One that takes calls is enough to know: others that drain make the sum too large while they leave.
      takes = providers.each_slice(STATS_PAGE).any? { |page| !@catalogue.draining(connection, page.map(&:id)).all? }
      takes ? providers.sum { |card| [1, card.slots].max } : 0
    end
  end
end
