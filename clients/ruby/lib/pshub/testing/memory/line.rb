# frozen_string_literal: true

require "socket"

module Pshub
  # The way of one hub or worker to the Redis in memory: a port of this host, which none but this process is told.
  class MemoryLine
    attr_reader :url, :listener

    def initialize(redis)
      @redis = redis
      @listener = TCPServer.new("127.0.0.1", 0)
      @url = "redis://127.0.0.1:#{@listener.addr[1]}"
      @sockets = []
      @cut = false
    end

    # How many live.
    def connections = @sockets.size
    def cut? = @cut

    # As the kernel does it when a process was killed: nothing of what was under way comes, and nothing more is sent.
    def cut
      @cut = true
      @redis.on_thread do
        @listener.close unless @listener.closed?
        drop
      end
    end

    # On the thread of its Redis, as what follows.

    def drop = @sockets.dup.each { |socket| @redis.leave(self, socket) }
    def add(socket) = @sockets << socket
    def delete(socket) = @sockets.delete(socket)
  end
end
