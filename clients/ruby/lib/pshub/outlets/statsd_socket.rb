# frozen_string_literal: true

require "socket"
require_relative "../wire/clock"

module Pshub
  # A UDP socket to a host that is named. Its address is looked up on a thread of its own, since that may take long; who sends never waits.
  # What cannot be sent is dropped. From any thread.
  class StatsdSocket
    # After so long the name may mean another machine.
    LIFE_S = 60.0
    # A name that could not be looked up is looked up again after this.
    RETRY_S = 5.0
    # So many packets wait for the first look-up; of more the oldest are dropped.
    MOST_WAITING = 50

    # How many packets never left.
    attr_reader :dropped

    def initialize(host, port)
      @host = host
      @port = port
      @lock = Mutex.new
      @dropped = 0
      reset
    end

    # Has the address looked up, where that was not done yet, or a while ago.
    def open = @lock.synchronize { renew }

    def push(packet)
      @lock.synchronize do
        @waiting << packet
        drop(@waiting.size - MOST_WAITING)
        renew
        send_waiting
      end
    end

    # Waits for a look-up that packets wait for.
    def finish(patience_s)
      looking = @lock.synchronize { @looking unless @waiting.empty? }
      looking&.join(patience_s)
    end

    # In the child of a fork: the thread is the parent's, and so is what waits.
    def forked
      @socket&.close
      reset
    end

    private

    def reset
      @waiting = []
      @socket = @looking = nil
      @look_at = -Float::INFINITY
    end

    def renew
      return if @looking || Clock.now < @look_at

      @looking = Thread.new { look_up }
      @looking.name = "pshub-statsd"
    end

    def look_up
      made = connected
      @lock.synchronize do
        @looking = nil
        @look_at = Clock.now + (made ? LIFE_S : RETRY_S)
        before, @socket = @socket, made if made
        before&.close
        # Figures of the past: they are not kept for long.
        drop(@waiting.size) unless @socket
        send_waiting
      end
    end

    # Connected, although UDP needs no connection: so the name is not looked up for each packet. nil where it has no address.
    def connected
      address = Addrinfo.getaddrinfo(@host, @port, nil, :DGRAM).first
      socket = UDPSocket.new(address.afamily)
      socket.connect(address.ip_address, address.ip_port)
      socket
    rescue SystemCallError, SocketError
      socket&.close
      nil
    end

    def send_waiting
      while @socket && (packet = @waiting.shift)
        begin
          @socket.sendmsg_nonblock(packet)
        rescue SystemCallError
          # The daemon is away, or the socket is full.
          @dropped += 1
        end
      end
    end

    def drop(count)
      @dropped += @waiting.shift(count).size if count.positive?
    end
  end
end
