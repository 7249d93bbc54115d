# frozen_string_literal: true

require_relative "../task/task"
require_relative "../wire/foreign"
require_relative "../wire/job_part"
require_relative "../wire/keys"
require_relative "../wire/names"
require_relative "../wire/payload"

module Pshub
  # +keyed+: how its jobs with the same key are run; nil: they have no keys. +scores+: +first+ where of equal payloads that are merged
  # the score counts that was first, else nil. +at+: Redis seconds of the last
  # time it was written, 0 when it does not say so.
  TaskCard = Struct.new(:task, :queue, :timeout_s, :idempotent, :keyed, :scores, :args, :max_payload_bytes, :max_backlog, :at)
  # +build+: of the program that it runs; nil: it does not say.
  WorkerCard = Struct.new(:id, :queue, :slots, :tasks, :who, :build)
  # +seen+: Redis milliseconds of its last beat; nil when that cannot be known.
  WorkerStats = Struct.new(:seen, :draining)
  # A field of the hash of task cards. The queue that had a task first is in the task's own field; +queue+ is nil for that.
  TaskField = Struct.new(:field, :task, :queue)

  # Readers of cards. They take what a record's author may have written and nothing else: a member of a wrong type counts as missing,
  # and without those that are required the record is Unreadable.
  module Cards
    DEFAULT_TIMEOUT_MS = 5000
    MAX_SLOTS = 65_536
    # Milliseconds since 1970 that any calendar has.
    MAX_MOMENT = 8.64e15

    module_function

    # Where the card of a further queue of a task is.
    def further_field(task, queue) = "#{task}@#{queue}"

    def field(raw)
      text = Payload.utf8(raw).scrub
      task, at, queue = text.rpartition("@")
      # No valid name has an @ in it.
      return TaskField.new(raw, text, nil) if at.empty? || !Keys.queue_name?(queue) || Names.try_parse(task).nil?

      TaskField.new(raw, task, queue)
    end

    def task(text, field = nil)
      card = Foreign.object(text, Foreign::MAX_CARD)
      name, queue = Foreign.name(card, "task"), Foreign.name(card, "queue")
      unless [nil, name, further_field(name, queue)].include?(field)
        raise Foreign::Unreadable, "it names another task or queue than its field"
      end

      milliseconds = [limit(card["timeoutMs"], DEFAULT_TIMEOUT_MS), Task::MAX_TIMEOUT_S * 1000].min
      TaskCard.new(
        name, queue, milliseconds / 1000.0, card["idempotent"] == true,
        (card["keyed"] if JobPart.keyed?(card["keyed"])), ("first" if card["scores"] == "first"),
        (card["args"] if card["args"].is_a?(Hash)),
        limit(card["maxPayloadBytes"]), limit(card["maxBacklog"]),
        Foreign.amount?(card["at"], MAX_MOMENT / 1000) ? card["at"] : 0
      )
    end

    def limit(value, otherwise = Float::INFINITY) = Foreign.amount?(value) && value.positive? ? value : otherwise

    def worker(text, field = nil)
      card = Foreign.object(text, Foreign::MAX_RECORD)
      id, queue = Foreign.name(card, "id"), Foreign.name(card, "queue")
      raise Foreign::Unreadable, "it names another worker than its field" unless [nil, id].include?(field)

      tasks = card["tasks"].is_a?(Hash) ? card["tasks"].transform_values { |digest| Foreign.text(digest, 64) } : {}
      slots = Foreign.count?(card["slots"], MAX_SLOTS) ? card["slots"].to_i : 0
      who = "#{Foreign.text(card['host'], 256)}/#{card['pid'] if card['pid'].is_a?(Integer)}"
      WorkerCard.new(id, queue, slots, tasks, who, (card["build"] if Names.build?(card["build"])))
    end

    def stats(text, _field = nil)
      stats = Foreign.object(text, Foreign::MAX_RECORD)
      WorkerStats.new((stats["seen"] if Foreign.amount?(stats["seen"], MAX_MOMENT)), stats["draining"] == true)
    end
  end
end
