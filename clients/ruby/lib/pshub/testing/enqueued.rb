# frozen_string_literal: true

require "json"
require_relative "../hub/arguments"

module Pshub
  # An enqueued job. +due_ms+: when it is due, milliseconds since 1970 on the clock of the test.
  EnqueuedJob = Struct.new(:id, :task, :args, :queue, :due_ms, :key, keyword_init: true)

  # The expected job was not enqueued.
  class NotEnqueuedAsExpected < StandardError; end

  # What went into Redis as a job, in its order, whoever enqueued it: the test, the code under test, or a handler.
  class EnqueuedJobs
    def initialize(redis)
      @redis = redis
      # Handlers look, too.
      @lock = Mutex.new
      @jobs = []
    end

    # Those of a task, or all.
    def of(task = nil)
      jobs = @lock.synchronize do
        while (told = @redis.ask("enqueued", @jobs.size.to_s)).any?
          told.each_slice(3) { |queue, at_us, message| @jobs << read(queue, at_us, message) }
        end
        @jobs.dup
      end
      return jobs if task.nil?

      meant = Arguments.name_of(task).to_s
      jobs.select { |job| job.task == meant || job.task.start_with?("#{meant}#{meant.include?(':') ? '.' : ':'}") }
    end

    # The first one with these arguments, or with any; names may be symbols, and whatever says with === what fits may stand in them.
    def expect(task, args = nil)
      candidates = of(task)
      candidates.find { |job| args.nil? || fits?(args, job.args) } || refuse(task, args, candidates)
    end

    def by_id(id) = of.find { |job| job.id == id }

    private

    def refuse(task, args, candidates)
      there = candidates.map { |job| job.args.inspect }
      there = of.map(&:task).uniq if there.empty?
      wanted = args.nil? ? "" : " with #{args.inspect}"
      raise NotEnqueuedAsExpected,
            "No job of #{Arguments.name_of(task)} was enqueued#{wanted}. Enqueued: #{there.empty? ? 'nothing' : there.join(', ')}."
    end

    def fits?(wanted, given)
      case wanted
      when Hash
        given.is_a?(Hash) && wanted.size == given.size && wanted.all? { |name, each| given.key?(name.to_s) && fits?(each, given[name.to_s]) }
      when Array then given.is_a?(Array) && wanted.size == given.size && wanted.zip(given).all? { |pair| fits?(*pair) }
      when Symbol then wanted.to_s == given
      else wanted === given # rubocop:disable Style/CaseEquality
      end
    end

    def read(queue, at_us, message)
      read = JSON.parse("{#{message.dup.force_encoding(Encoding::UTF_8)}")
      job = read.fetch("job", {})
      due_ms = (job["due"] || ((at_us.to_i / 1000) + (job["delay"] || 0))).to_i
      EnqueuedJob.new(id: read["id"], task: read["task"], args: read["args"], queue: queue, due_ms: due_ms, key: job["key"])
    end
  end
end
