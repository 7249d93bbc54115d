# frozen_string_literal: true

require "redis"
require "socket"

module Pshub
  # One link to Redis through the redis gem: the only file that knows the gem, and what differs between its versions. It never
  # sends anything again and is never used again once it broke; Connection makes a new one.
  class Link
    FAILURES = [
      Redis::BaseConnectionError, Redis::ProtocolError, IOError, SystemCallError,
      (RedisClient::ConnectionError if defined?(RedisClient)), (OpenSSL::SSL::SSLError if defined?(OpenSSL::SSL))
    ].compact.freeze
    COMMAND_ERROR = Redis::CommandError
    IS_4 = Redis::VERSION.start_with?("4.")
    CONNECT_S = 2.0
    # A link of 1.6 Mbit/s is not silent, but slow: megabytes lie in the buffers of the system for seconds, where nobody sees them move. They
    # have that long before the link is given up.
    SLOWEST_BYTES_PER_S = 200_000.0
    RECEIVING_MS = 1000
    # After 30 s of rest TCP itself asks for a sign of life: firewalls of clouds forget a flow after 60 s at the earliest that they can be set
    # to, and after four minutes where nobody sets them.
    KEEPALIVE = { TCP_KEEPIDLE: 30, TCP_KEEPINTVL: 10, TCP_KEEPCNT: 3 }.freeze

    unless IS_4 || Redis::VERSION.split(".").first(2).map(&:to_i).<=>([5, 2]) >= 0
      raise LoadError, "pshub needs the gem redis 4.8, or 5.2 and newer; this is #{Redis::VERSION}"
    end

    # Connects; +options+ are the gem's. Raises one of FAILURES, or COMMAND_ERROR where Redis refuses the user.
    # +first+ is a command that this user may use, where connecting needs one.
    def initialize(options, timeout_s, connect_s: CONNECT_S, first: "TIME")
      fixed = { reconnect_attempts: 0, connect_timeout: connect_s, read_timeout: timeout_s, write_timeout: timeout_s }
      # redis-rb names connections by itself, and fails where the user lacks the right to.
      @timeout_s = timeout_s
      # redis-rb 4 would take what the options lack from REDIS_URL, a password and a database of something else.
      fixed[:url] = false if IS_4
      @redis = Redis.new(**options, **fixed, id: nil)
      IS_4 ? @redis._client.connect : @redis.call(first)
      keep_alive unless options[:tcp_keepalive]
    end

    # Sends commands in one write. One answer per command, an error answer being a StandardError among them.
    def run(commands)
      upload_s = commands.sum { |words| words.sum { |word| word.to_s.bytesize } } / SLOWEST_BYTES_PER_S
      upload_s > 0.1 ? patiently(@timeout_s + upload_s) { exchange(commands) } : exchange(commands)
    end

    # Every user may ask for the time. A refusal is a sign of life, too.
    def answers?(patience_s)
      patiently(patience_s) { exchange([%w[TIME]]) }
      true
    rescue *FAILURES
      false
    end

    # Sends as #run does.
    def exchange(commands)
      return @redis.pipelined(exception: false) { |pipeline| commands.each { |each| pipeline.call(*each) } } unless IS_4

      client = @redis._client
      client.process(commands) { Array.new(commands.size) { client.read } }
    end

    # So long an answer may take.
    def patiently(seconds)
      reader = IS_4 ? @redis._client.connection : @redis._client
      write = IS_4 ? :timeout= : :read_timeout=
      reader.public_send(write, seconds)
      yield
    ensure
      reader&.public_send(write, @timeout_s)
    end

    # False when the server's end is gone; looks at the socket without a word to the server.
    def alive?
      io = socket or return true
      peeked = io.recv_nonblock(1, Socket::MSG_PEEK, exception: false)
      # Nothing is under way, so that what can be read is the end; but for TLS, which may have something of its own to say.
      peeked == :wait_readable || (!peeked.nil? && !peeked.empty? && tls?)
    rescue *FAILURES
      false
    end

    # Something came a moment ago, whole or not. Only Linux tells.
    def receiving?
      info = socket&.getsockopt(:TCP, :INFO)&.data
      !info.nil? && info.unpack1("@52L") < RECEIVING_MS
    rescue *FAILURES, SocketError
      false
    end

    # Ends a wait of another thread on this link.
    def cut
      socket&.shutdown
    rescue *FAILURES
      nil
    end

    def close
      @redis.close
    rescue *FAILURES
      nil
    end

    private

    def keep_alive
      io = socket
      return unless io&.remote_address&.ip?

      io.setsockopt(:SOCKET, :KEEPALIVE, true)
      # Not every system can be told when.
      KEEPALIVE.each { |name, value| io.setsockopt(:TCP, Socket.const_get(name), value) if Socket.const_defined?(name) }
    end

    # The gem has no public way to its socket. Where this finds none, a broken link is only noticed by using it.
    def socket
      io = raw_io
      io = io.to_io if io.respond_to?(:to_io)
      io if io.is_a?(BasicSocket)
    end

    def raw_io
      return @redis._client.connection&.instance_variable_get(:@sock) if IS_4

      raw = @redis._client.instance_variable_get(:@raw_connection)
      raw&.instance_variable_get(:@io)&.instance_variable_get(:@io)
    end

    def tls? = !raw_io.is_a?(BasicSocket)
  end
end
