# frozen_string_literal: true

require "json"
require_relative "../wire/foreign"
require_relative "../wire/job_part"
require_relative "../wire/keys"
require_relative "../wire/payload"

module Pshub
  # The status of a tracked job.
  #
  # +state+:: +waiting+, +scheduled+, +running+ or +retrying+; at its end +done+, +dead+, +expired+ or +cancelled+. A later step of a
  #   chain can also be +pending+, until the steps before it have succeeded
  # +tries+:: how often it has failed so far
  # +error+:: its last failure: a hash with +at+ (Redis milliseconds), +code+ and +message+; or nil
  # +enqueued_ms+, +due_ms+, +started_ms+, +ended_ms+:: Redis milliseconds, nil for what has not happened yet
  # +worker+:: id of the worker that runs it, or ran it last
  # +progress+:: while it runs: the last Progress that its handler reported
  JobStatus = Struct.new(
    :id, :queue, :task, :state, :tries, :error, :enqueued_ms, :due_ms, :started_ms, :ended_ms, :worker, :progress,
    keyword_init: true
  ) do
    def ended? = JobRecord::ENDS.include?(state)
  end

  # A record as it is in Redis: its +status+, its +result+ as JSON once it is done, and the chain it is a step of, as its id and queue
  # and task of each step.
  JobRecord = Struct.new(:status, :result, :chain)

  # Reads records, which others may have written.
  class JobRecord
    ENDS = %w[done dead expired cancelled].freeze
    STATES = (%w[waiting scheduled running retrying] + ENDS).freeze
    TIME = /\A[0-9]{1,16}\z/

    class << self
      # Of fields and values in turn; nil for what is none.
      def read(flat, id, queue)
        fields = flat.map { |text| Payload.utf8(text).scrub }.each_slice(2).to_h
        return nil unless STATES.include?(fields["state"])

        times = %w[enqueued due started ended].map { |name| moment(fields[name]) }
        status = JobStatus.new(
          id: id, queue: queue, task: Foreign.text(fields["task"], 128), state: fields["state"], tries: moment(fields["tries"]) || 0,
          error: JobPart.failure(parsed(fields["error"])).first, worker: fields["worker"] && fields["worker"][0, 64],
          **%i[enqueued_ms due_ms started_ms ended_ms].zip(times).to_h
        )
        new(status, (fields["result"] if status.state == "done"), chain_of(fields))
      end

      # The shard of a queue to which a job was moved, by the record that it left there; nil for one that was not.
      def moved_to(flat, queue)
        state, shard = flat.map { |text| Payload.utf8(text).scrub }.each_slice(2).to_h.values_at("state", "to")
        whole = Keys.whole_queue(queue)
        shard if state == "moved" && shard != queue && (shard == whole || Keys.shard_of?(shard, whole))
      end

      # A time or a number, of a text; nil for what is none.
      def moment(text) = (text.to_i if text&.match?(TIME))

      private

      def chain_of(fields)
        steps = JobPart.steps(parsed(fields["steps"]))
        [fields["chain"], steps] if steps && Keys.id?(fields["chain"])
      end

      def parsed(text)
        text && JSON.parse(text, create_additions: false)
      rescue JSON::JSONError
        nil
      end
    end
  end
end
