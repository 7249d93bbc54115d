# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "../wire/ids"
require_relative "../wire/payload"
require_relative "cron"
require_relative "job"
require_relative "schedule_entry"

module Pshub
  # A schedule of a queue.
  #
  # +timezone+:: nil: UTC
  # +missed+:: +once+, +skip+, or nil for the default: once
  # +next_ms+:: its next run, Redis milliseconds; nil if it is paused, or has none. A past time means that no worker runs the schedule
  # +paused_ms+:: since when it is paused; nil if it is not
  Schedule = Struct.new(:name, :queue, :cron, :timezone, :missed, :task, :args, :next_ms, :paused_ms, keyword_init: true)

  # The schedules of one queue. The workers of that queue run them.
  class Schedules
    attr_reader :queue

    def initialize(host, queue)
      @host = host
      @queue = queue
      @job_queue = host.queue_of(queue)
    end

    # All schedules by name; unreadable ones are omitted. Raises NotEnqueued when Redis is unreachable, HubClosed.
    def list
      texts, times = @host.ask { |connection| @job_queue.schedules(connection) }
      texts.sort.filter_map do |name, text|
        entry = ScheduleEntry.read(text)
        shown(name, entry, times[name]) if entry
      end
    end

    # Stops enqueuing until #resume. Returns false if there is no such schedule.
    def pause(name) = change(name) { |entry, now_ms| entry.paused_ms || now_ms }

    # Continues with its next time; missed times are skipped. Raises ConfigError without fugit.
    def resume(name)
      ScheduleEntry.need_cron
      change(name) { nil }
    end

    # Enqueues its job now and does not change its times. Returns the Job, the existing one if it is a duplicate; nil if there is no such
    # schedule.
    def run(name)
      id = Ids.make
      @host.change do |connection|
        entry = ScheduleEntry.read(@job_queue.schedule_text(connection, name)) or next
        message = entry.message(id, @queue, @job_queue.now_ms(connection))
        twin = @job_queue.enqueue_one(connection, id, message)
        Job.new(@host, twin || id, @queue, entry.task, twin: !twin.nil?)
      end
    end

    # Returns whether it existed.
    def remove(name) = @host.change { |connection| @job_queue.remove_schedule(connection, name) }

    # Writes a schedule, replacing one of the same name; a paused one stays paused. +times+ are checked, +step+ is its job.
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
