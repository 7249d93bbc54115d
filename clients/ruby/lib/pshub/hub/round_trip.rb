# frozen_string_literal: true

require_relative "../redis/failures"
require_relative "../wire/clock"

module Pshub
  # Where requests go and where their answers come back: on a Cluster two nodes. What could not be answered is not sent: it would run, and
  # its caller would hear of a timeout.
  class RoundTrip
    def initialize(commands, calls, blocking, replies)
      @there = commands.at(calls).without_waiting
      @back = blocking.at(replies)
    end

    def ready? = @there.ready? && back?
    def down_reason = @there.down_reason || (@back.down_reason unless back?)

    # As those of Connection.
    def wait_ready(stop, patience = Float::INFINITY)
      finish = Clock.now + patience
      @there.wait_ready(stop, patience) && (back? || @back.wait_ready(stop, finish - Clock.now))
    end

    def run(...)
      raise NotConnected, @back.down_reason || "the node of the replies is not connected yet" unless back?

      @there.run(...)
    end

    def of(command) = @there.of(command)

    private

    # On one server the answers wait where the requests do: one that is there for the one is there for the other.
    def back? = !@there.spread? || @back.ready?
  end
end
