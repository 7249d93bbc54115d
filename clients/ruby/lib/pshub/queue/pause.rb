# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "../wire/keys"

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

    # Returns since when it is paused, Redis milliseconds: an earlier pause goes on, with its own time.
    def pause(connection, keys, queue)
      key = keys.queue(queue).paused
      now_ms = connection.now_ms
      before = connection.one("SET", key, now_ms, "NX", "GET")
      return before.to_i if time?(before)

      # Workers take what is no time for no pause; it must not keep anybody from pausing.
      connection.one("SET", key, now_ms) if before
      now_ms
    end

    # Returns whether it was paused. A life that ended long ago removes the key, also from a full Redis and never somebody else's
    # of another type.
    def resume(connection, keys, queue) = time?(connection.one("GETEX", keys.queue(queue).paused, "PXAT", 1))

    # What is no time is nobody's pause, whoever wrote it.
    def time?(text) = text.is_a?(String) && text.b.match?(TIME)
  end
end
