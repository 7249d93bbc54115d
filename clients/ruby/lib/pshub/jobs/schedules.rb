# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "../wire/ids"
require_relative "../wire/payload"
require_relative "cron"
require_relative "job"
require_relative "schedule_entry"

module Pshub
  # An entry of a queue's schedules.
  #
  # +timezone+:: nil: UTC
  # +missed+:: +once+, +skip+, or nil where it was not said: once
  # +next_ms+:: its next time, Redis milliseconds; nil when it is paused, or has none. One that has passed nobody keeps up
  # +paused_ms+:: since when it is paused; nil: it is not
  Schedule = Struct.new(:name, :queue, :cron, :timezone, :missed, :task, :args, :next_ms, :paused_ms, keyword_init: true)

  # The schedules of one queue. Workers of that queue keep them up.
  class Schedules
    attr_reader :queue

    def initialize(host, queue)
      @host = host
      @queue = queue
      @job_queue = host.queue_of(queue)
    end

    # All of them, by name; what cannot be read is left out. Raises NotEnqueued when Redis is away, HubClosed.
    def list
      texts, times = @host.ask { |connection| @job_queue.schedules(connection) }
      texts.sort.filter_map do |name, text|
        entry = ScheduleEntry.read(text)
        shown(name, entry, times[name]) if entry
      end
    end

    # Nothing is enqueued any more until #resume. Returns false where there is no such schedule.
    def pause(name) = change(name) { |entry, now_ms| entry.paused_ms || now_ms }

    # It goes on with its next time; those that passed meanwhile are not made up for. Raises ConfigError without fugit.
    def resume(name)
      ScheduleEntry.need_cron
      change(name) { nil }
    end

    # Enqueues its job now; its times stay as they are. Returns the Job, the twin of a unique one that waits already; nil where there is no
    # such schedule.
    def run(name)
      id = Ids.make
      @host.change do |connection|
        entry = ScheduleEntry.read(@job_queue.schedule_text(connection, name)) or next
        message = entry.message(id, @queue, @job_queue.now_ms(connection))
        twin = @job_queue.enqueue_one(connection, id, message)
        Job.new(@host, twin || id, @queue, entry.task, twin: !twin.nil?)
      end
    end

    # Returns whether there was one.
    def remove(name) = @host.change { |connection| @job_queue.remove_schedule(connection, name) }

    # Writes one, in the place of an earlier one of its name; that was paused stays so. +times+ are checked, +step+ is its job.
    def write(name, times, step, from)
      @host.change do |connection|
        entry = replace(connection, name) do |before|
          ScheduleEntry.new(**times, task: step.task, args: step.args, job: step.job, ttl_ms: step.ttl_ms, from: from,
                                     paused_ms: before&.paused_ms)
        end
        shown(name, entry, @job_queue.next_ms_of(connection, name))
      end
    end

    private

    # The block tells since when it is paused from now on.
    def change(name)
      @host.change do |connection|
        changed = replace(connection, name) do |before, now_ms|
          before.paused_ms = yield(before, now_ms) if before
          before
        end
        !changed.nil?
      end
    end

    # Writes what the block makes of the entry that is there, again where somebody else wrote it meanwhile: a pause beside a deployment
    # holds. nil where the block made none.
    def replace(connection, name)
      loop do
        text = @job_queue.schedule_text(connection, name)
        now_ms = @job_queue.now_ms(connection)
        entry = yield(ScheduleEntry.read(text), now_ms) or return
        next_ms = entry.paused_ms ? nil : entry.next_ms(now_ms)
        return entry if @job_queue.schedule(connection, name, entry.to_json, next_ms, text)
      end
    rescue Cron::UnknownZone => e
      # Somebody wrote it who knows other time zones.
      raise InvalidArgs, "schedule #{name}: #{e.message}."
    end

    def shown(name, entry, next_ms)
      args = Payload.decode(entry.args)
      Schedule.new(name: name, queue: @queue, args: args, next_ms: next_ms,
                   **entry.to_h.slice(:cron, :timezone, :missed, :task, :paused_ms))
    rescue Payload::Problem
      raise InvalidArgs, "The arguments of schedule #{name} are not JSON."
    end
  end
end
