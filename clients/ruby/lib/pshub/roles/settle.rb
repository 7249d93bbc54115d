# frozen_string_literal: true

module Pshub
  # A request that ended in this worker. +id+ is its id in the held hash, nil for one that is not held; +worker_id+ the id it was
  # claimed under; +hub_id+ nil when nobody waits for a reply.
  Settlement = Struct.new(:id, :worker_id, :hub_id, :reply)

  module Roles
    # Replies, then releases, on a thread of its own. What ended meanwhile goes in one write: one push per hub, then one removal
    # from the held hash. In that order, because a crash in between repeats a reply, which the hub recognises, instead of losing
    # one.
    class Settle
      MAX_BATCH = 256

      # +crew+ is asked for #worker_id, #lease_certain?, #renew_lease, and told #released and #problem.
      def initialize(crew, queue, connection)
        @crew = crew
        @queue = queue
        @connection = connection
        @stopping = Stop.new
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @waiting = []
        @under_way = 0
      end

      def start = @thread = Thread.new { serve }

      def add(settlement)
        @lock.synchronize do
          @waiting << settlement
          @changed.broadcast
        end
      end

      # Returns when everything added so far is confirmed or refused for good, or after so many seconds.
      def drained(patience)
        finish = Clock.now + patience
        @lock.synchronize do
          while (@waiting.any? || @under_way.positive?) && (left = finish - Clock.now).positive?
            @changed.wait(@lock, left)
          end
        end
      end

      # Ends the retries of what could not be sent.
      def stop
        @stopping.set
        @lock.synchronize { @changed.broadcast }
        @thread&.join
      end

      private

      def serve
        until @stopping.set?
          batch = @lock.synchronize do
            @changed.wait(@lock) while @waiting.empty? && !@stopping.set?
            @waiting.shift(MAX_BATCH).tap { |taken| @under_way = taken.size }
          end
          deliver(batch) unless batch.empty?
          @lock.synchronize do
            @under_way = 0
            @changed.broadcast
          end
        end
      end

      def deliver(batch)
        attempt = 0
        until @stopping.set?
          begin
            @crew.renew_lease unless @crew.lease_certain?
            return send_batch(batch)
          rescue NotConnected, ConnectionLost
            @connection.wait_ready(@stopping)
          rescue ReplyError => e
            # A full disk, which refuses releases too, is repaired in the end: given up, a request would be held for ever.
            return @crew.problem("settle", e) unless e.passing? || e.full?
          end
          @stopping.wait(Clock.backoff(attempt, 0.02, 1.0))
          attempt += 1
        end
      end

      def send_batch(batch)
        worker_id = @crew.worker_id
        # Claimed under an identity that was lost: somebody else answers for it by now.
        mine = batch.select { |each| each.worker_id == worker_id }
        by_hub = mine.select(&:hub_id).group_by(&:hub_id)
        commands = by_hub.map { |hub_id, each| @queue.reply_command(hub_id, each.map(&:reply)) }
        ids = mine.filter_map(&:id)
        commands << @queue.release_command(worker_id, ids) unless ids.empty?
        return if commands.empty?

        look_at(@connection.run(*commands), !ids.empty?)
        @crew.released(ids)
      end

      def look_at(answers, releases)
        *replies, release = releases ? answers : [*answers, nil]
        raise release if release.is_a?(ReplyError)

        # One hub's spoilt reply list must not keep the others' replies back.
        passing, lasting = replies.grep(ReplyError).partition { |each| each.passing? || each.full? }
        lasting.each { |each| @crew.problem("settle", each) }
        raise passing.first unless passing.empty?
      end
    end
  end
end
