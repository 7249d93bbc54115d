# frozen_string_literal: true

require "redis"
require "socket"
require_relative "../wire/errors"
require_relative "failures"
require_relative "gem_clients"

module Pshub
  # One link to Redis through the redis gem. It never sends anything again and is never used again once it broke; Connection makes a new one.
  # A failed link raises ConnectionLost. Error answers of Redis are ReplyErrors, with the text that Redis sent.
  class Link
    CONNECT_S = 2.0
    # A link of 1.6 Mbit/s is not silent, but slow: megabytes lie in the buffers of the system for seconds, where nobody sees them move. They
    # have that long before the link is given up.
    SLOWEST_BYTES_PER_S = 200_000.0
    RECEIVING_MS = 1000
    SOCKET_FAILURES = [IOError, SystemCallError, SocketError, (OpenSSL::SSL::SSLError if defined?(OpenSSL::SSL))].compact.freeze
    FAILURES = [*SOCKET_FAILURES, *GemClient::FAILURES].freeze

    # Connects; +options+ are the gem's. Raises ConnectionLost, or ReplyError where Redis refuses the user.
    def initialize(options, timeout_s, connect_s: CONNECT_S)
      # The gem would name connections by itself, and fail where the user lacks the right to.
      fixed = { reconnect_attempts: 0, connect_timeout: connect_s, read_timeout: timeout_s, write_timeout: timeout_s, id: nil }
      @timeout_s = timeout_s
      @client = translated { GemClient.new({ **options, **fixed }) }
    rescue ArgumentError => e
      raise ConnectionLost, "the redis gem #{Redis::VERSION} does not take these options: #{e.message}"
    end

    # Sends commands in one write. One answer per command, ReplyErrors among them.
    def run(commands)
      upload_s = commands.sum { |words| words.sum { |word| word.to_s.bytesize } } / SLOWEST_BYTES_PER_S
      upload_s > 0.1 ? patiently(@timeout_s + upload_s) { exchange(commands) } : exchange(commands)
    end

    # Every user may ask for the time. A refusal is a sign of life, too.
    def answers?(patience_s)
      patiently(patience_s) { exchange([%w[TIME]]) }
      true
    rescue ConnectionLost
      false
    end

    # False when the server's end is gone, or an exchange was interrupted: the gem would connect again by itself, and nobody would greet that
    # link. Looks at the socket without a word to the server.
    def alive?
      return false unless @client.connected?

      io = socket or return true
      peeked = io.recv_nonblock(1, Socket::MSG_PEEK, exception: false)
      # Nothing is under way, so that what can be read is the end; but for TLS, which may have something of its own to say.
      peeked == :wait_readable || (!peeked.nil? && !peeked.empty? && tls?)
    rescue *SOCKET_FAILURES
      false
    end

    # Something came a moment ago, whole or not. Only Linux tells.
    def receiving?
      info = socket&.getsockopt(:TCP, :INFO)&.data
      !info.nil? && info.unpack1("@52L") < RECEIVING_MS
    rescue *SOCKET_FAILURES
      false
    end

    # Ends a wait of another thread on this link.
    def cut
      socket&.shutdown
    rescue *SOCKET_FAILURES
      nil
    end

    def close
      @client.close
    rescue *FAILURES
      nil
    end

    private

    def exchange(commands)
      translated { @client.exchange(commands) }.map { |answer| answer.is_a?(StandardError) ? refusal(answer) : answer }
    end

    # So long an answer may take.
    def patiently(seconds)
      @client.timeout = seconds
      yield
    ensure
      @client.timeout = @timeout_s
    end

    # An exception's #to_s is what Redis said; redis-client adds the server's URL to #message.
    def refusal(error) = ReplyError.new(error.to_s.dup.force_encoding(Encoding::UTF_8).scrub)

    def translated
      yield
    rescue *GemClient::REFUSALS => e
      raise refusal(e)
    rescue *FAILURES => e
      raise ConnectionLost, GemClient.reason_of(e) || Errors.message_of(e)
    end

    # Where the gem has none to show, a broken link is only noticed by using it.
    def socket
      io = @client.io
      io = io.to_io if io.respond_to?(:to_io)
      io if io.is_a?(BasicSocket)
    end

    def tls? = !@client.io.is_a?(BasicSocket)
  end
end
