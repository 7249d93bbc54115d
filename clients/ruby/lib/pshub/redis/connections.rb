# frozen_string_literal: true

require_relative "connection"

module Pshub
  # The two connections of a hub or a worker (on a Cluster, two for each node that is used), and a third one of a hub.
  module Connections
    # How long a blocked read waits before it looks again; also the longest that a lost bell can cost.
    BLOCK_S = 2
    # A request without an answer for this long condemns its connection.
    STALL_S = 2.0

    # One for requests, which must be answered soon, and one that may block.
    def self.pair(owner, target, events)
      commands = Connection.new(owner, "commands", target, STALL_S, events)
      # A worker's wait may have to be ended.
      [commands, commands.beside("blocking", BLOCK_S + 1.0, asks_id: owner == "worker")]
    end

    # One on which Redis may wait for its replicas.
    def self.durable(commands) = commands.beside("durable", STALL_S + 1.0)
  end
end
