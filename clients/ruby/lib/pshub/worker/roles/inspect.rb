# frozen_string_literal: true

require_relative "../../redis/boot_check"
require_relative "../../redis/connection"

module Pshub
  module Roles
    # Whether the server is one that a worker of its queues may serve on.
    class Inspect
      # How often a server is looked at until it is fit, and after that.
      RETRY_S = 1.0
      INSPECT_S = 60.0

      # The block tells which queues these are at the moment.
      def initialize(connection, keys, events, stopping, &queues)
        @connection = connection
        @keys = keys
        @queues = queues
        @events = events
        @stopping = stopping
        @told = []
      end

      # What makes it unfit, one sentence each; nil when it could not be asked.
      def look
        BootCheck.unfit(@connection, @keys, @queues.call)
      rescue *Connection::PROBLEMS
        nil
      end

      # True when it is fit; waits for that until the worker stops.
      def wait_until_fit
        until @stopping.set?
          @connection.wait_ready(@stopping)
          reasons = look
          tell(reasons) if reasons
          return true if reasons == []

          @stopping.wait(RETRY_S)
        end
        false
      end

      # What is served is not put at risk by stopping, so a change is only told.
      def watch
        until @stopping.wait(INSPECT_S)
          reasons = look
          tell(reasons) if reasons
        end
      end

      private

      def tell(reasons)
        return if reasons == @told

        @told = reasons
        @events.emit("problem", where: "redis", reason: BootCheck.refusal(reasons)) unless reasons.empty?
      end
    end
  end
end
