# frozen_string_literal: true

module Pshub
  # The Redis of a test.
  class TestRedis
    # How far the clock is moved on at most until all have found Redis again.
    BACK_S = 5

    # Pass it as +redis+ to further hubs and workers of the test.
    attr_reader :target

    # The block tells who is connected.
    def initialize(redis, clock, &users)
      @redis = redis
      @clock = clock
      @users = users
      @target = redis.line.url
      @before = []
    end

    # Makes it unreachable: all connections break, and new ones fail. Its data stays. Returns when the hub and the worker have noticed.
    def go_away
      @before = @users.call.map(&:connections)
      @redis.go_away
      @clock.quiet(patient: false)
    end

    # Makes it reachable again, with its data. Returns when the hub and the worker have reconnected; this advances the clock.
    def come_back
      @redis.come_back
      finish = @clock.now_ms + (BACK_S * 1000)
      @clock.step(0.1) until found? || @clock.now_ms >= finish
      @clock.quiet
    end

    # Runs one command, like redis-cli, to read or write data. Raises RedisError as Redis replies.
    def command(*words) = @redis.command(*words)

    private

    def found? = @users.call.zip(@before).all? { |user, before| user.connections >= before.to_i }
  end
end
