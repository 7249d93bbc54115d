# frozen_string_literal: true

require_relative "target"

module Pshub
  # How a connection comes to its server, which is at an address of its own.
  class Reach
    # How long a new link gets, all together: until its server's name is resolved, it is encrypted, let in and greeted. Each of these
    # may wait for an answer that never comes, or that comes byte by byte.
    OPEN_S = 3.0

    # +address+: nil where the options have it.
    def initialize(options, address = nil)
      @options = options
      @address = address
    end

    # The redis gem's, of a new link.
    def options = Target.with_password(Target.at(@options, @address))

    # This NodeConnection has a link to it, or makes one: it is to be told when that must be dropped.
    def hold(_node) = nil
    def release(_node) = nil

    # What is wrong with the server by what its INFO says of replication, nil for nothing.
    def wrong(_info) = nil
  end
end
