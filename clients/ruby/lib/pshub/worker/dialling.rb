# frozen_string_literal: true

require_relative "../redis/failures"
require_relative "../wire/clock"
require_relative "patience"

module Pshub
  # Many threads want the same servers. While one of these is away it is not dialled by each of them, but once in a while, less often each time;
  # who comes in between is told that it is away.
  class Dialling
    def initialize
      @lock = Mutex.new
      @away = {}
    end

    # Does what the block does with that server. Raises what the block raises, and NotConnected.
    def to(server)
      raise NotConnected, "Redis was away a moment ago" if away?(server)

      begin
        yield.tap { @lock.synchronize { @away.delete(server) } unless @away.empty? }
      rescue NotConnected, ConnectionLost
        failed(server)
        raise
      end
    end

    private

    def away?(server)
      return false if @away.empty?

      @lock.synchronize { @away.key?(server) && Clock.now < @away[server].last }
    end

    def failed(server)
      @lock.synchronize do
        tries, finish = @away.fetch(server, [0, 0.0])
        # Others had begun before.
        next if Clock.now < finish

        @away[server] = [tries + 1, Clock.now + Patience.pause(tries)]
      end
    end
  end
end
