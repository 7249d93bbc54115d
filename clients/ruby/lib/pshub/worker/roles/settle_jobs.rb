# frozen_string_literal: true

require_relative "../../jobs/verdict"
require_relative "../../queue/batches"
require_relative "../../redis/failures"
require_relative "../../redis/library"
require_relative "../../wire/clock"
require_relative "../held"
require_relative "../patience"

module Pshub
  module Roles
    # Ends jobs that do not only go, on a thread of its own: in one step with their release, so that a crash at any moment leaves each of
    # them held, or waiting again, or at its end. Those of one moment go together.
    class SettleJobs
      # +crew+ is asked for #worker_id, and told what to #forward and of each #problem.
      def initialize(crew, queue, job_queue, connection, slots)
        @crew = crew
        @queue = queue
        @job_queue = job_queue
        @connection = connection
        @slots = slots
        @patience = Patience.new(connection) { |error| crew.problem("settle", error) }
        @lock = Mutex.new
        @changed = Clock.condition
        @waiting = []
        @batch = []
      end

      def start = @thread = Thread.new { serve }
      def ended? = @thread&.alive? == false

      # A Settlement with a +job+. Its slot is for others at once, however long Redis does not take it.
      def add(settlement)
        settlement.at = @slots.at_of(settlement.id)
        @slots.free(settlement.slot) if settlement.slot
        @lock.synchronize do
          @waiting << settlement
          @changed.broadcast
        end
      end

      # Returns when everything added so far is confirmed, or after so many seconds.
      def drained(patience)
        finish = Clock.now + patience
        @lock.synchronize do
          while [@waiting, @batch].any?(&:any?) && (left = finish - Clock.now).positive?
            @changed.wait(@lock, left)
          end
        end
      end

      # What could not be sent stays held, and is run again.
      def stop
        @patience.stop
        @lock.synchronize { @changed.broadcast }
        @thread&.join
      end

      private

      def serve
        until @patience.over?
          deliver(next_batch)
          @lock.synchronize do
            @batch = []
            @changed.broadcast
          end
        end
      end

      def next_batch
        @lock.synchronize do
          @changed.wait(@lock) until @waiting.any? || @patience.over?
          @batch = Batches.of(@waiting) { |each| each.job.text.bytesize + each.job.following.bytesize }.first || []
          @waiting.shift(@batch.size)
        end
      end

      # Whatever refuses it is tried again: a job is done, or waits, or is dead, or held.
      def deliver(settlements)
        worker_id = @crew.worker_id
        ends, ats = ends_of(settlements, worker_id)
        return if ends.empty?

        # Claimed under an identity that was lost: others have adopted it.
        own = -> { worker_id == @crew.worker_id }
        @patience.until_done(own) { settled(@job_queue.settle(@connection, worker_id, ends, ats), ends, ats, worker_id) }
      end

      def ends_of(settlements, worker_id)
        own = settlements.select { |each| each.worker_id == worker_id }
        [own.map(&:job), own.map(&:at)]
      end

      # Who waits for them is told behind it, and looks again where that fails.
      def settled(jobs, ends, ats, worker_id)
        # Not remembered as released: a job is tried again under its id, and one whose end Redis forgets is run again.
        @slots.settled(ends.map(&:id).zip(ats))
        @crew.forward(jobs.outs, worker_id)
        if jobs.dropped.positive?
          @crew.problem("dead", "#{jobs.dropped} of the oldest dead jobs were dropped to keep the latest ones")
        end
        answers = jobs.told.map do |job_end, ticket, hub_id|
          @queue.reply_command(hub_id, [JobVerdict.answer(as_ended(job_end), ticket, worker_id)])
        end
        Library.send_all(@connection.apart, *answers) if answers.any?
      rescue NotConnected, ConnectionLost
        nil
      end

      # One that was to come back ended all the same: it was cancelled meanwhile, or its time would be over.
      def as_ended(job_end)
        return job_end unless %w[retry pass putoff].include?(job_end.outcome)

        state = @job_queue.record(@connection, Held.plain_id(job_end.id)).each_slice(2).to_h["state"]
        JobVerdict.unrun(job_end.id, state == "cancelled" ? "cancelled" : "expired")
      end
    end
  end
end
