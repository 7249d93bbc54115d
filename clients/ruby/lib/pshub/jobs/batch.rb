# frozen_string_literal: true

require_relative "job_record"

module Pshub
  # How the jobs of a batch fare: how many there are (nil while they are being enqueued), how many are +done+, how many +dead+, expired or
  # cancelled, and when the last one ended, Redis milliseconds.
  BatchStatus = Struct.new(:total, :done, :dead, :ended_ms, keyword_init: true)

  # Jobs that belong together: when all have ended, the follow-up job is enqueued once.
  class Batch
    # +queue+ is the queue of the follow-up job, in which the batch is counted. +ids+ are the ids of its jobs. +after+ is the follow-up
    # Job, +failed+ the one if a job failed; each can be nil.
    attr_reader :id, :queue, :ids, :after, :failed

    def initialize(host, id, queue, ids, after, failed)
      @host = host
      @id = id
      @queue = queue
      @ids = ids
      @after = after
      @failed = failed
    end

    # A BatchStatus; nil if it ended more than an hour ago. Raises NotEnqueued when Redis is unreachable, HubClosed.
    def status
      fields = @host.ask { |connection| @host.queue_of(@queue).batch_record(connection, @id) }
      return nil unless fields["opened"]

      total, done, dead, ended = %w[total done dead ended].map { |name| JobRecord.moment(fields[name]) }
      BatchStatus.new(total: total, done: done || 0, dead: dead || 0, ended_ms: ended)
    end
  end
end
