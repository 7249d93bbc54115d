# frozen_string_literal: true

require_relative "connection"

module Pshub
  # The two connections of a hub or a worker.
  module Connections
    # How long a blocked read waits before it looks again; also the longest that a lost bell can cost.
    BLOCK_S = 2
    # A request without an answer for this long condemns its connection.
    STALL_S = 2.0

    # One for requests, which must be answered soon, and one that may block.
    def self.pair(owner, target, events)
      # A worker's wait may have to be ended.
      blocking = Connection.new(owner, "blocking", target, BLOCK_S + 1.0, events, asks_id: owner == "worker")
      [Connection.new(owner, "commands", target, STALL_S, events), blocking]
    end
  end
end
