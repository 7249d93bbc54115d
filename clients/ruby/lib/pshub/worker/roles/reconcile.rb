# frozen_string_literal: true

require_relative "../../redis/failures"
require_relative "../../wire/clock"
require_relative "../held"

module Pshub
  module Roles
    # Finds what Redis says is held here and this worker does not know of. It would stay for ever: a live worker's lease never ends,
    # so nobody adopts from it. An id counts as lost when two looks in a row found it unknown, because at a single look its claim
    # may just be on its way here; and when the beat of the second one was sent behind the first one: of two beats close by both looks
    # may meet the same claim on its way, and what is put back then runs twice. While the answer of a claim is coming in that was sent
    # before the first look, it may be what brings them.
    #
    # 1. A claim whose answer was lost: back to the list. Not run here, because a claim for all idle slots is under way already, and
    #    would bring more than there is room for.
    # 2. An adoption whose answer was lost: what it left to this worker is answered. The same for what is to be done in other queues.
    # 3. What was settled and released here: a replica was promoted that had not heard of that. Released again, and never run again.
    class Reconcile
      # +crew+ is asked for #worker_id, and told #ignore_claims_of, #answer, #forward and #problem.
      def initialize(crew, queue, connection, slots)
        @crew = crew
        @queue = queue
        @connection = connection
        @slots = slots
        # Unknown at the last look, and since when.
        @suspects = {}
      end

      # +held+ are the ids that came with a beat, +now_us+ is that one's time, +sent_at+ when it was sent, +arriving_since+ when a claim was sent
      # whose answer is coming in.
      def look(held, now_us, sent_at, arriving_since = Float::INFINITY)
        worker_id = @crew.worker_id
        unknown = held.reject { |id| @slots.knows?(id) }
        lost = unknown.select { |id| @suspects.fetch(id, Float::INFINITY) < [sent_at, arriving_since].min }
        now = Clock.now
        @suspects = unknown.to_h { |id| [id, @suspects.fetch(id, now)] }
        return if lost.empty? || worker_id != @crew.worker_id

        ended, open = lost.partition { |id| @slots.released?(id) }
        adopted, own = open.partition { |id| Held.lost?(id) || Held.out?(id) }
        release_again(ended, worker_id)
        put_back(own, worker_id, now_us)
        answer(adopted, worker_id)
      end

      private

      def release_again(ids, held_by)
        return if ids.empty?

        @crew.problem("failover", "Redis lost the record that #{ids.size} requests had ended here; they are not run again")
        @connection.one(*@queue.release_command(held_by, ids))
      end

      # The mark is the beat's own time, which is later than the claim that was lost and earlier than any that follows: an estimate
      # of now is ahead of Redis by the beat's way, and would void the next claim too.
      def put_back(ids, held_by, now_us)
        return if ids.empty?

        @crew.ignore_claims_of(ids, now_us)
        @queue.handback(@connection, held_by, "head", ids)
      rescue ReplyError => e
        @crew.problem("reconcile", e)
      end

      def answer(ids, held_by)
        return if ids.empty?

        found = @queue.held_texts(@connection, held_by, ids)
        return if held_by != @crew.worker_id

        outs, calls = found.partition { |id, _| Held.out?(id) }
        @crew.answer(calls, held_by)
        @crew.forward(outs, held_by)
      end
    end
  end
end
