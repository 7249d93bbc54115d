# frozen_string_literal: true

require_relative "../../redis/connection"
require_relative "../../wire/clock"
require_relative "../held"

module Pshub
  module Roles
    # The last steps of a worker that leaves on purpose: what it holds goes back at once instead of when its lease ends. While Redis is
    # away nothing can be handed back; then the lease ends by itself and others adopt what is held.
    class Farewell
      # +crew+ is asked for #worker_id and #stats, and told of each #problem.
      def initialize(crew, queue, connection, registrar, slots, clock)
        @crew = crew
        @queue = queue
        @connection = connection
        @registrar = registrar
        @slots = slots
        @clock = clock
      end

      # Tells the registry that this worker takes nothing any more.
      def announce
        seen = @clock.at_us(Clock.now) / 1000
        # Without a beat nobody knows of this worker yet; its first one says so itself.
        tried { @registrar.publish_stats(@connection, @crew.worker_id, @crew.stats(seen)) } if seen.positive?
      end

      # The answer of the last claim may have been cut off; what it took goes back to others. Returns how many went back.
      def hand_back_unknown
        tried do
          unknown = held_ids.reject { |id| @slots.knows?(id) || Held.lost?(id) || Held.out?(id) || @slots.released?(id) }
          unknown.empty? ? 0 : @queue.handback(@connection, @crew.worker_id, "head", unknown)
        end
      end

      # Gives up the lease with all that is still held, and takes the worker out of the registry. Returns how much of it went back to
      # the lists. What a failover brought back after its release goes before: it must not return to a list.
      def leave
        tried do
          ended = held_ids.select { |id| @slots.released?(id) }
          @connection.one(*@queue.release_command(@crew.worker_id, ended)) if ended.any?
          handed_back = @queue.leave(@connection, @crew.worker_id, @slots.known_ids)
          @registrar.remove(@connection, @crew.worker_id)
          handed_back
        end
      end

      private

      def tried
        @connection.ready? ? yield : 0
      rescue *Connection::PROBLEMS => e
        @crew.problem("stop", e)
        0
      end

      def held_ids = @queue.held_ids(@connection, @crew.worker_id)
    end
  end
end
