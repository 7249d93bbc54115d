# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "../wire/keys"
require_relative "shards"

module Pshub
  # Pausing a queue and resuming it. PROTOCOL.md, section 10.10.
  module Pause
    TIME = /\A[0-9]{1,16}\z/

    module_function

    # Raises ConfigError.
    def check_queue_name(queue)
      return if Keys.queue_name?(queue)

      raise ConfigError, "#{queue.inspect[0, 80]} is not the name of a queue: 1 to 64 letters, digits, and _ . - " \
                         "(a letter or digit first)."
    end

    # Pauses all places of a queue. Returns since when it is paused, Redis milliseconds: an earlier pause goes on, with its own time.
    def pause(connection, keys, queue)
      Shards.places(connection, keys, queue).map { |place| pause_place(connection, keys.queue(place).paused) }.first
    end

    def pause_place(connection, key)
      now_ms = connection.at(key).now_ms
      before = connection.one("SET", key, now_ms, "NX", "GET")
      return before.to_i if time?(before)

      # Workers take what is no time for no pause; it must not keep anybody from pausing.
      connection.one("SET", key, now_ms) if before
      now_ms
    end

    # Ends the pause in all places of a queue. Returns whether it was paused. A life that ended long ago removes the key, also from a full
    # Redis and never somebody else's of another type.
    def resume(connection, keys, queue)
      places = Shards.places(connection, keys, queue)
      places.map { |place| connection.one("GETEX", keys.queue(place).paused, "PXAT", 1) }.any? { |before| time?(before) }
    end

    # What is no time is nobody's pause, whoever wrote it.
    def time?(text) = text.is_a?(String) && text.b.match?(TIME)
  end
end
