# frozen_string_literal: true

require_relative "../queue/shards"
require_relative "../wire/errors"
require_relative "../wire/message"
require_relative "../wire/payload"
require_relative "../wire/times"
require_relative "../wire/canonical"
require_relative "job_text"

module Pshub
  # A dead job.
  #
  # +queue+:: its queue; with shards, the shard that holds it
  # +task+:: name:version
  # +from+:: name of the service that enqueued it
  # +at_ms+:: when it became dead, Redis milliseconds
  # +tries+:: how often it was tried
  # +errors+:: its last ten failures, oldest first: hashes with +at+ (Redis milliseconds), +code+ and +message+
  # +following+:: how many steps of its chain wait for it
  # +key+:: its key, or nil
  # +score+:: for a merged job: the score of its payload, which is its +args+; else nil
  DeadJob = Struct.new(:id, :queue, :task, :args, :from, :at_ms, :tries, :errors, :following, :key, :score, keyword_init: true)

  # The dead jobs of a queue. They are kept for 180 days, at most 10,000. Filters are +ids+, +task+ (name:version), +code+ (of the last
  # failure), +key+ and +before_ms+ (dead before this: Redis milliseconds, or a Time); omitted filters match everything.
  class DeadJobs
    # Read at a time: each of them may be a megabyte.
    PAGE = 20
    # Sent at a time.
    BATCH = 20
    FILTERS = %i[ids task code key before_ms].freeze
    # Stands for arguments that are to stay as they are.
    KEEP = Object.new.freeze
    private_constant :KEEP

    attr_reader :queue

    def initialize(host, queue)
      @host = host
      @queue = queue
    end

    # How many dead jobs exist, or match.
    def count(**matching)
      places.sum do |place|
        next each_matching(place, matching).count unless matching.empty?

        @host.ask { |connection| place.count_dead(connection) }
      end
    end

    # DeadJobs, the latest first, at most +limit+. Raises InvalidArgs for an unknown filter, NotEnqueued when Redis is unreachable,
    # HubClosed.
    def list(limit: 100, **matching)
      found = places.map { |place| each_matching(place, matching).first(limit).map(&:first) }
      found.size == 1 ? found.first : found.flatten.max_by(limit, &:at_ms)
    end

    # Retries the matching jobs with a new count of tries; their chains continue. +args+ replaces their arguments, which makes sense for
    # one job. Returns how many. Raises as #list, InvalidArgs for arguments that are not JSON.
    def retry(args: KEEP, **matching)
      json = args.equal?(KEEP) ? nil : encoded(args)
      in_batches(matching) do |connection, place, some|
        place.revive(connection, some.map { |job, dead| [dead, JobText.revived(dead, json && (job.score ? Canonical.text_of(json) : json))] })
      end
    end

    # Permanently deletes the matching jobs. Returns how many.
    def delete(**matching) = in_batches(matching) { |connection, place, some| place.delete_dead(connection, some.map(&:last)) }

    private

    # The queue, and its shards.
    def places
      names = @host.ask { |connection| Shards.places(connection, @host.keys, @queue) }
      names.map { |name| @host.queue_of(name) }
    end

    # All of a place are found before the first one goes: what is read by its rank must not move meanwhile.
    def in_batches(matching)
      places.sum do |place|
        each_matching(place, matching).to_a.each_slice(BATCH).sum do |some|
          @host.change { |connection| yield(connection, place, some) }
        end
      end
    end

    # Pairs of a DeadJob and its text.
    def each_matching(place, matching)
      matching = checked(matching)
      Enumerator.new do |found|
        0.step(by: PAGE) do |first|
          page = @host.ask { |connection| place.dead(connection, first, first + PAGE - 1) }
          page.each do |text, at_ms|
            job = read(place, text, at_ms)
            found << [job, text] if job && fits?(job, matching)
          end
          break if page.size < PAGE
        end
      end
    end

    # What is no filter must not pass for all of them.
    def checked(matching)
      unknown = (matching.keys - FILTERS).first
      raise wrong("there is no filter '#{unknown}'. Known: #{FILTERS.join(', ')}") if unknown
      raise wrong("ids must be an array of ids") unless matching[:ids].nil? || matching[:ids].is_a?(Array)

      before = matching.fetch(:before_ms, nil)
      before_ms = Times.moment_ms(before) || before
      raise wrong("before_ms must be a Time or milliseconds since 1970") unless before.nil? || Times.number?(before_ms)

      { **matching, before_ms: before_ms }
    end

    def wrong(what) = InvalidArgs.new("dead jobs: #{what}.")

    def fits?(job, matching)
      ids, task, code, key, before_ms = matching.values_at(*FILTERS)
      (ids.nil? || ids.include?(job.id)) && (task.nil? || task == job.task) &&
        (code.nil? || job.errors.last&.fetch("code") == code) && (key.nil? || key == job.key) && (before_ms.nil? || job.at_ms < before_ms)
    end

    # nil for what is no job.
    def read(place, text, at_ms)
      request = Message.decode_request(text, nil, @host.keys)
      then_steps, part = request.then_steps, request.job || {}
      DeadJob.new(id: request.id, queue: place.name, task: request.task, args: request.args, from: request.from, at_ms: at_ms,
                  tries: part.fetch("tries", 0), errors: part.fetch("errors") { [] },
                  following: then_steps.is_a?(Array) ? then_steps.size : 0, key: part["key"], score: part["score"])
    rescue Message::Malformed
      nil
    end

    def encoded(args)
      Payload.encode(args)
    rescue Payload::Problem => e
      raise Errors.of_problems("InvalidArgs", [e.problem], nil)
    end
  end
end
