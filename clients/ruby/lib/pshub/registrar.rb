# frozen_string_literal: true

require "socket"

module Pshub
  # Publishes what one worker provides: its tasks and its card once per identity, its statistics with each beat.
  class Registrar
    def initialize(keys, queue, tasks, settings, events)
      @keys = keys
      @catalogue = Catalogue.new(keys)
      @providers = Providers.new(@catalogue)
      @queue = queue
      @tasks = tasks
      @settings = settings
      @events = events
      @published_at = 0
    end

    # Cards go out with the first beat of an identity that gets them through, and again from time to time.
    def publish(connection, worker_id, now_ms, stats, measures)
      first = @published_id != worker_id
      due = first || now_ms - @published_at > Catalogue::REPUBLISH_MS
      commands = [["HSET", @keys.stats, worker_id, Payload.compact(stats)]]
      told = measures.texts(due)
      commands << ["HSET", @keys.task_stats, worker_id, told.task_stats] if told.task_stats
      commands << ["HSET", @keys.failures, worker_id, told.failures] if told.failures
      commands.concat(cards(worker_id, now_ms / 1000)) if due
      refused = connection.run(*commands).find { |answer| answer.is_a?(ReplyError) }
      raise refused if refused
      return unless due

      @catalogue.sweep(connection, now_ms)
      warn_of_conflicts(connection, worker_id) if first
      @published_id = worker_id
      @published_at = now_ms
    end

    # Statistics out of turn.
    def publish_stats(connection, worker_id, stats)
      connection.one("HSET", @keys.stats, worker_id, Payload.compact(stats))
    end

    # Of a task of this queue, declared here or elsewhere; false when that cannot be found out.
    def idempotent?(name, connection)
      return @tasks[name].idempotent if @tasks.key?(name)

      @catalogue.task_cards(connection, [name]).first&.idempotent || false
    rescue NotConnected, ConnectionLost, ReplyError
      false
    end

    # Whether a live worker of this queue takes requests for a task, and which queue its card names, if it has one.
    def whereabouts(name, connection)
      slots = @providers.slots(connection, @queue.keys.leases, name)
      [slots.positive?, @catalogue.task_cards(connection, [name]).first&.queue]
    end

    def remove(connection, worker_id) = @catalogue.remove_workers(connection, [worker_id])

    private

    def cards(worker_id, seconds)
      declared = @tasks.flat_map { |name, task| [name, Payload.compact(task.card(@queue.name, @settings, seconds))] }
      [
        ["HSET", @keys.workers, worker_id, Payload.compact(card(worker_id, seconds))],
        ["HSET", @keys.tasks, *declared]
      ]
    end

    def card(id, started)
      {
        "id" => id, "queue" => @queue.name, "host" => Socket.gethostname, "pid" => Process.pid, "slots" => @settings.slots,
        "tasks" => @tasks.transform_values(&:digest), "client" => "pshub-ruby/#{VERSION}", "started" => started
      }
    end

    # Two live workers with one version and two schemas: whoever of them takes a call decides what is valid.
    def warn_of_conflicts(connection, worker_id)
      ids = @catalogue.live_ids(connection, @queue.keys.leases) - [worker_id]
      others = @catalogue.worker_cards(connection, ids)
      @tasks.each do |name, task|
        other = others.find { |card| card.tasks.fetch(name, task.digest) != task.digest }
        @events.emit("task:conflict", task: name, queue: @queue.name, other: other.who) if other
      end
    end
  end
end
