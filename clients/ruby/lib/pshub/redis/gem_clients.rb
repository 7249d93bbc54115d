# frozen_string_literal: true

require "redis"

# Which versions of the gem redis it works with.
module Pshub
  # A connection of the redis gem 4.8. This file alone knows how versions of the gem differ.
  class GemClient4
    FAILURES = [Redis::BaseConnectionError, Redis::ProtocolError].freeze
    REFUSALS = [Redis::CommandError].freeze
    # After 30 s of rest TCP itself asks for a sign of life: firewalls of clouds forget a flow after 60 s at the earliest that they can be set
    # to, and after four minutes where nobody sets them. redis-client does so after 15 s.
    KEEPALIVE = { tcp_keepalive: { time: 30, intvl: 10, probes: 3 } }.freeze

    # Why a link failed, in words, where the gem has none.
    def self.reason_of(_error) = nil

    def initialize(options)
      # The gem would take what the options lack from REDIS_URL, a password and a database of something else.
      @client = Redis.new(**(options[:path] ? {} : KEEPALIVE), **options, url: false)._client
      @client.connect
    end

    # False also after an exchange of which answers may still come.
    def connected? = @client.connected?

    # One answer for each command, error answers as exceptions among them.
    def exchange(commands) = @client.process(commands) { Array.new(commands.size) { @client.read } }

    # Seconds that a read may take.
    def timeout=(seconds)
      @client.connection&.timeout = seconds
    end

    def close = @client.disconnect

    # The socket; the gem has no public way to it. nil where it cannot be found.
    def io = @client.connection&.instance_variable_get(:@sock)
  end

  # A connection of redis-client, on which the gem redis stands since 5.0.
  class GemClient5
    if defined?(RedisClient)
      FAILURES = [RedisClient::ConnectionError, RedisClient::ProtocolError, RedisClient::UnsupportedServer].freeze
      REFUSALS = [RedisClient::CommandError].freeze
    end

    def self.reason_of(error)
      case error
      when RedisClient::TimeoutError then "Connection timed out"
      when RedisClient::Error then error.to_s == "EOFError" ? "Redis closed the connection" : error.to_s
      end
    end

    def initialize(options)
      @client = RedisClient.config(protocol: 2, **options).new_client
      @client.disable_reconnection { |connection| @connection = connection }
    end

    def connected? = @client.connected?
    def exchange(commands) = @client.pipelined(exception: false) { |pipeline| commands.each { |each| pipeline.call_v(each) } }

    def timeout=(seconds)
      @client.read_timeout = seconds
    end

    def close = @client.close
    def io = @connection.instance_variable_get(:@io)&.instance_variable_get(:@io)
  end

  major, minor = Redis::VERSION.split(".").map(&:to_i)
  unless major == 4 || ([major, minor] <=> [5, 2]) >= 0
    raise LoadError, "pshub needs the gem redis 4.8, or 5.2 and newer; this is #{Redis::VERSION}"
  end

  GemClient = major == 4 ? GemClient4 : GemClient5
end
