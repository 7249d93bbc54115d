# frozen_string_literal: true

require "socket"
require_relative "../queue/batches"
require_relative "../redis/failures"
require_relative "../redis/library"
require_relative "../wire/keys"
require_relative "../wire/payload"
require_relative "../wire/version"
require_relative "cards"
require_relative "catalogue"

module Pshub
  # The one writer of the registry: publishes what one worker provides, its tasks and its card once per identity, its statistics
  # as it beats. PROTOCOL.md, section 11.
  class Registrar
    # Cards are rewritten this often, and go when none of their workers did so for a day.
    REPUBLISH_MS = 10 * 60_000
    FORGET_TASK_S = 24 * 3600
    FORGET_WORKER_MS = 3_600_000
    # So many workers write their statistics with each beat; more of them take turns, but write with each tenth at the least.
    TELLING_AT_ONCE = 2000
    MOST_BEATS = 10
    # So many cards go to Redis in one step at the most, because it does nothing else meanwhile.
    MAX_CARDS = 100

    # Where a task is: +served+ when a live worker of the queue asked about takes it, +declared+ when somebody declared it once,
    # +elsewhere+ is the queue that had it first, while live workers of that one take it.
    Whereabouts = Struct.new(:served, :declared, :elsewhere)

    # The block tells whether the same worker serves a queue, too.
    def initialize(keys, queue, tasks, settings, events, &serves)
      @keys = keys
      @catalogue = Catalogue.new(keys, events)
      @queue = queue
      @tasks = tasks
      @settings = settings
      @events = events
      @serves = serves || ->(_) { false }
      @published_at = 0
      @told = {}
      # How many beats there are from statistics to statistics, and how many there were. Workers that began together are not in step.
      @every_beats = 1
      @beats = rand(MOST_BEATS)
    end

    # To be told of each beat. Cards go out with the first one of an identity that gets them through, and again from time to time.
    def publish(connection, worker_id, now_ms, stats, measures)
      first = @published_id != worker_id
      due = first || now_ms - @published_at > REPUBLISH_MS
      @beats += 1
      # Callers must hear that it leaves, also when the word that it wrote out of turn was lost.
      return unless due || stats["draining"] || (@beats % @every_beats).zero?

      told = measures.texts(due)
      texts = { @keys.stats => Payload.compact(stats), @keys.task_stats => told.task_stats, @keys.failures => told.failures }
      texts[@keys.workers] = Payload.compact(card(worker_id, now_ms / 1000)) if due
      answers = connection.run(*texts.compact.map { |key, text| ["HSET", key, worker_id, text] })
      # Whatever is refused there, the cards of tasks are what calls come by.
      publish_tasks(connection, worker_id, now_ms, first) if due
      refused = answers.find { |answer| answer.is_a?(ReplyError) }
      raise refused if refused
      return unless due

      @published_id = worker_id
      @published_at = now_ms
    end

    # Statistics out of turn.
    def publish_stats(connection, worker_id, stats)
      connection.one("HSET", @keys.stats, worker_id, Payload.compact(stats))
    end

    def whereabouts(name, connection)
      served = ->(queue) { @catalogue.slots(connection, queue, name).positive? }
      return Whereabouts.new(true, true, @queue.name) if served[@queue.name]

      cards = @catalogue.task_cards(connection, [Cards.further_field(name, @queue.name), name])
      first = cards.last&.queue
      elsewhere = first && first != @queue.name && Keys.queue_name?(first) && served[first]
      Whereabouts.new(false, cards.any?, elsewhere ? first : nil)
    end

    def remove(connection, worker_id) = remove_all(connection, [worker_id])

    private

    def card(id, started)
      {
        "id" => id, "queue" => @queue.name, "host" => Socket.gethostname, "pid" => Process.pid, "slots" => @settings.slots,
        "tasks" => @tasks.transform_values(&:digest), "client" => "pshub-ruby/#{VERSION}", "build" => @settings.build, "started" => started
      }.compact
    end

    def publish_tasks(connection, worker_id, now_ms, first)
      declare(connection, worker_id, now_ms / 1000)
      sweep(connection, now_ms)
      warn_of_conflicts(connection, worker_id) if first
    end

    # A task stays with the queue that had it first as long as that one has live workers for it. Then this one's card is a further
    # one, of which its operators should know; else its queue is the first one from now on, as in any move.
    def declare(connection, worker_id, seconds)
      cards = @tasks.to_h { |name, task| [name, Payload.compact(task.card(@queue.name, @settings, seconds))] }
      elsewhere = place(connection, cards.map { |name, text| [name, text, ""] })
      live = elsewhere.values.uniq.to_h do |queue|
        [queue, Keys.queue_name?(queue) ? @catalogue.providers(connection, queue) : []]
      end
      left, stays = elsewhere.partition { |name, queue| live[queue].none? { |card| card.tasks.key?(name) } }
      taken = place(connection, left.map { |name, dead| [name, cards[name], dead] })
      [*stays, *taken].each { |name, queue| tell_elsewhere(worker_id, name, queue) }
    end

    # Puts cards where they belong. Returns tasks that another queue has first, with that queue.
    def place(connection, cards)
      padding = Batches::MAX_BYTES / MAX_CARDS
      Batches.of(cards) { |_, text| text.bytesize + padding }.flat_map do |batch|
        Library.run(connection, "declare", [@keys.tasks], [@queue.name, *batch.flatten]).each_slice(2).to_a
      end.to_h
    end

    # Once per identity and task.
    def tell_elsewhere(worker_id, name, first)
      return if @serves.call(first)

      @told = { worker_id => {} } unless @told.key?(worker_id)
      return if @told[worker_id].key?(name)

      @told[worker_id][name] = true
      @events.emit("task:elsewhere", task: name, queue: @queue.name, first: first)
    end

    # Removes cards of tasks that nobody published for a day and of workers that are long gone: a page of them each time, and the next
    # one the next time, because each worker does so. What cannot be read stays: its worker may be alive, and only a person can tell what
    # it is.
    def sweep(connection, now_ms)
      stale = @catalogue.some_tasks(connection).select { |_, card| (now_ms / 1000) - card.at > FORGET_TASK_S }.keys
      connection.one("HDEL", @keys.tasks, *stale) unless stale.empty?
      count, stats = @catalogue.some_stats(connection)
      remove_all(connection, stats.select { |_, each| each.seen && now_ms - each.seen > FORGET_WORKER_MS }.keys)
      @every_beats = (count / TELLING_AT_ONCE.to_f).ceil.clamp(1, MOST_BEATS)
    end

    def remove_all(connection, ids)
      return if ids.empty?

      hashes = [@keys.workers, @keys.stats, @keys.task_stats, @keys.slow, @keys.failures]
      connection.run(*hashes.map { |key| ["HDEL", key, *ids] })
    end

    # Two live workers with one version and two schemas: whoever of them takes a call decides what is valid.
    def warn_of_conflicts(connection, worker_id)
      others = @catalogue.providers(connection, @queue.name).reject { |card| card.id == worker_id }
      @tasks.each do |name, task|
        other = others.find { |card| card.tasks.fetch(name, task.digest) != task.digest }
        @events.emit("task:conflict", task: name, queue: @queue.name, other: other.who) if other
      end
    end
  end
end
