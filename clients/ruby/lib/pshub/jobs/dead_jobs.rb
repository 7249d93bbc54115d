# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "../wire/message"
require_relative "../wire/payload"
require_relative "revived"

module Pshub
  # A job that was given up.
  #
  # +task+:: name:version
  # +from+:: name of the service that enqueued it
  # +at_ms+:: when it was given up, Redis milliseconds
  # +tries+:: how often it was tried
  # +errors+:: its last ten failures, oldest first: hashes with +at+ (Redis milliseconds), +code+ and +message+
  # +following+:: how many steps of its chain wait for it
  DeadJob = Struct.new(:id, :queue, :task, :args, :from, :at_ms, :tries, :errors, :following, keyword_init: true)

  # The jobs of a queue that were given up: they are kept for 180 days, 10,000 of them at the most. Filters are +ids+, +task+
  # (name:version), +code+ (of the last failure) and +before_ms+ (given up before this, Redis milliseconds); what is not said does not
  # matter. Without any: all.
  class DeadJobs
    # Read at a time: each of them may be a megabyte.
    PAGE = 20
    # Sent at a time.
    BATCH = 20
    FILTERS = %i[ids task code before_ms].freeze
    # Stands for arguments that are to stay as they are.
    KEEP = Object.new.freeze
    private_constant :KEEP

    attr_reader :queue

    def initialize(host, queue)
      @host = host
      @queue = queue
      @job_queue = host.queue_of(queue)
    end

    # How many there are, or match.
    def count(**matching)
      return @host.ask { |connection| @job_queue.count_dead(connection) } if matching.empty?

      each_matching(matching).count
    end

    # DeadJobs, the latest first, at most +limit+. Raises InvalidArgs for what is no filter, NotEnqueued when Redis is away, HubClosed.
    def list(limit: 100, **matching) = each_matching(matching).first(limit).map(&:first)

    # Has those that match tried again, from their first try on; a chain goes on with them. +args+: in the place of their own, which makes
    # sense for one of them. Returns how many. Raises as #list, InvalidArgs for arguments that are no JSON.
    def retry(args: KEEP, **matching)
      json = args.equal?(KEEP) ? nil : encoded(args)
      in_batches(matching) do |connection, texts|
        @job_queue.revive(connection, texts.map { |dead| [dead, Revived.message(dead, json)] })
      end
    end

    # Removes those that match, for good. Returns how many.
    def delete(**matching) = in_batches(matching) { |connection, texts| @job_queue.delete_dead(connection, texts) }

    private

    # All are found before the first one goes: what is read by place must not move meanwhile.
    def in_batches(matching)
      each_matching(matching).map(&:last).each_slice(BATCH).sum do |texts|
        @host.ask { |connection| yield(connection, texts) }
      end
    end

    # Pairs of a DeadJob and its text.
    def each_matching(matching)
      check(matching)
      Enumerator.new do |found|
        0.step(by: PAGE) do |first|
          page = @host.ask { |connection| @job_queue.dead(connection, first, first + PAGE - 1) }
          page.each do |text, at_ms|
            job = read(text, at_ms)
            found << [job, text] if job && fits?(job, matching)
          end
          break if page.size < PAGE
        end
      end
    end

    # What is no filter must not pass for all of them.
    def check(matching)
      unknown = (matching.keys - FILTERS).first
      raise wrong("there is no filter '#{unknown}'. Known are #{FILTERS.join(', ')}") if unknown
      raise wrong("ids must be an array of ids") unless matching[:ids].nil? || matching[:ids].is_a?(Array)
    end

    def wrong(what) = InvalidArgs.new("dead jobs: #{what}.")

    def fits?(job, matching)
      ids, task, code, before_ms = matching.values_at(*FILTERS)
      (ids.nil? || ids.include?(job.id)) && (task.nil? || task == job.task) &&
        (code.nil? || job.errors.last&.fetch("code") == code) && (before_ms.nil? || job.at_ms < before_ms)
    end

    # nil for what is no job.
    def read(text, at_ms)
      request = Message.decode_request(text, nil, @host.keys)
      then_steps, part = request.then_steps, request.job || {}
      DeadJob.new(id: request.id, queue: @queue, task: request.task, args: request.args, from: request.from, at_ms: at_ms,
                  tries: part.fetch("tries", 0), errors: part.fetch("errors") { [] },
                  following: then_steps.is_a?(Array) ? then_steps.size : 0)
    rescue Message::Malformed
      nil
    end

    def encoded(args)
      Payload.encode(args)
    rescue Payload::Problem => e
      raise InvalidArgs, "The arguments are #{e.message}."
    end
  end
end
