# frozen_string_literal: true

require_relative "../../queue/batches"
require_relative "../../redis/connection"
require_relative "../../redis/failures"
require_relative "../../redis/library"
require_relative "../../wire/clock"
require_relative "../patience"

module Pshub
  module Roles
    # Replies, then releases, on a thread of its own. What ended meanwhile goes in one write: one push per hub. What is held is
    # removed once these were answered, together with the next replies if there are any: whatever happens in between repeats a
    # reply, which the hub recognises, instead of losing one. On a Cluster replies to a hub whose node is away wait for themselves.
    class Settle
      # Commands that are sent for some settlements, and what to do when Redis has taken them; those that +must+ be done are tried
      # again whatever refuses them.
      Part = Struct.new(:commands, :entries, :confirmed, :must)

      # +crew+ is asked for #worker_id, #lease_certain?, #beat_now, and told of each #problem.
      def initialize(crew, queue, connection, slots)
        @crew = crew
        @queue = queue
        @connection = connection
        @slots = slots
        @patience = Patience.new(connection) { |error| crew.problem("settle", error) }
        @lock = Mutex.new
        @changed = Clock.condition
        @waiting = []
        # What is under way; of @answered the replies are in Redis, and the releases are to follow.
        @batch = []
        @answered = []
        # Replies to nodes that are away, until it is time to try them again.
        @put_off = []
        @put_offs = 0
        @again_at = 0.0
        # In a row: of replies, and of releases.
        @failures = @refusals = 0
        @release_at = 0.0
      end

      def start = @thread = Thread.new { serve }
      def ended? = @thread&.alive? == false

      # Its slot is for others at once, however long Redis does not take the reply.
      def add(settlement)
        @slots.free(settlement.slot) if settlement.slot
        @lock.synchronize do
          @waiting << settlement
          @changed.broadcast
        end
      end

      # Returns when everything added so far is confirmed or refused for good, or after so many seconds.
      def drained(patience)
        finish = Clock.now + patience
        @lock.synchronize do
          while pending? && (left = finish - Clock.now).positive?
            @changed.wait(@lock, left)
          end
        end
      end

      # Ends the retries of what could not be sent.
      def stop
        @patience.stop
        @lock.synchronize { @changed.broadcast }
        @thread&.join
      end

      private

      def pending? = [@waiting, @batch, @answered, @put_off].any?(&:any?)

      def serve
        until @patience.over?
          next_batch if @batch.empty?
          releases_due? ? send_batch(@answered, []) : send_batch([], @answered)
          @failures = @batch.empty? ? 0 : @failures + 1
          @patience.wait(Patience.pause(@failures - 1)) if @failures.positive?
        end
      end

      def releases_due? = @answered.any? && Clock.now >= @release_at
      def again_due? = @put_off.any? && Clock.now >= @again_at

      def next_batch
        @lock.synchronize do
          until @waiting.any? || releases_due? || again_due? || @patience.over?
            moments = [*(@release_at if @answered.any?), *(@again_at if @put_off.any?)]
            @changed.wait(@lock, moments.any? ? [moments.min - Clock.now, 0.001].max : nil)
          end
          @batch = Batches.of(@waiting) { |each| each.reply.to_s.bytesize }.first || []
          @waiting.shift(@batch.size)
          @batch.concat(@put_off.shift(Batches::MOST)) if again_due?
        end
      end

      # The replies of the batch, and the releases of +due+; those of +later+ have been refused a moment ago. What is left of the
      # batch afterwards is to be tried again.
      def send_batch(due, later)
        @crew.beat_now unless @crew.lease_certain?
        worker_id = @crew.worker_id
        # Claimed under an identity that was lost: somebody else answers for it by now.
        ended, due = [@batch, due].map { |each| each.select { |one| one.worker_id == worker_id } }
        again = {}.compare_by_identity
        deliver([*parts_of(ended), *release_part(due, worker_id)]).each { |part| part.entries.each { |each| again[each] = true } }
        left, settled = ended.partition { |each| again.key?(each) }
        due = due.select { |each| again.key?(each) }
        @lock.synchronize do
          @batch = put_off(left)
          @answered = later + settled + due
          @changed.broadcast
        end
        put_off_releases(due.any?) if later.empty?
      rescue *Connection::PROBLEMS
        put_off_releases(due.any?) if later.empty?
        @patience.wait_ready
      end

      # What is left of a batch, without what waits for nodes of its own.
      def put_off(left)
        away, left = left.partition { |each| @away.include?(each.hub_id) }
        @put_offs = 0 if @put_off.empty?
        @again_at = Clock.now + Patience.pause((@put_offs += 1) - 1) if away.any?
        @slots.stick(away.map(&:id))
        @put_off.concat(away)
        left
      end

      # Replies go on while releases are refused.
      def put_off_releases(refused)
        @refusals = refused ? @refusals + 1 : 0
        @release_at = refused ? Clock.now + Patience.pause(@refusals - 1) : 0.0
      end

      # Sends them in one write. Returns those that are to be tried again.
      def deliver(parts)
        return [] if parts.empty?

        @away = []
        answers = Library.send_all(@connection.apart, *parts.flat_map(&:commands))
        parts.reject { |part| done?(part, answers.shift(part.commands.size)) }
      end

      # One hub's spoilt reply list must not keep the others' replies back. A full disk is repaired in the end, and so is a library
      # that is missing.
      def done?(part, answers)
        refused = answers.find { |answer| answer.is_a?(StandardError) }
        return part.confirmed&.call(*answers) || true unless refused
        return away(part) unless refused.is_a?(ReplyError)
        return false if refused.passing? || refused.full? || refused.no_function?

        @crew.problem("settle", refused)
        !part.must
      end

      def away(part)
        @away.concat(part.entries.map(&:hub_id)) unless part.must
        false
      end

      def parts_of(ended)
        ended.select(&:hub_id).group_by(&:hub_id).map do |hub_id, entries|
          Part.new([@queue.reply_command(hub_id, entries.map(&:reply))], entries)
        end
      end

      def release_part(answered, worker_id)
        return [] if answered.empty?

        ids = answered.map(&:id)
        # A right that was taken away, for one: what is held would block its slots for ever.
        [Part.new([@queue.release_command(worker_id, ids)], answered, ->(_) { @slots.released(ids) }, true)]
      end
    end
  end
end
