# frozen_string_literal: true

require_relative "../../queue/work_left"

module Pshub
  module Roles
    # Finds when a place that is no shard of its queue any more may be left: when this worker holds nothing there, nothing waits there, and
    # nobody else holds anything. Who died holding something is adopted from by those that stayed.
    class Retreat
      # Of many workers so few look at a time: each one asks what all of them hold.
      LOOKING_AT_ONCE = 8

      # +keys+ are those of the place.
      def initialize(keys, connection, slots)
        @keys = keys
        @connection = connection
        @slots = slots
      end

      # +held+ are the ids that came with a beat.
      def possible?(beat, held)
        return false unless held == [] && beat.ended.empty? && @slots.known_ids.empty?

        workers = @connection.one("ZCOUNT", @keys.leases, "-inf", "+inf")
        rand * workers < LOOKING_AT_ONCE && WorkLeft.count(@connection, @keys).zero?
      end
    end
  end
end
