# frozen_string_literal: true

require "socket"
require_relative "../figures/unanswered"
require_relative "../redis/connection"
require_relative "../redis/refusals"
require_relative "../wire/clock"
require_relative "../wire/errors"

module Pshub
  # Tells the registry which calls a hub refused, or gave up without a word of a worker: no worker can know. Nothing is sent while
  # there are none, and at most once a second while there are, by a thread that is there for so long.
  class UnansweredReport
    FIRST_S = 0.1
    EVERY_S = 1.0
    # A record is kept for so long after it was written last, and so many hubs are listed.
    MEMORY_MS = 3_600_000
    MAX_HUBS = 1000
    FAREWELL_S = 1.0

    def initialize(hub_id, name, keys, commands, closing)
      @hub_id = hub_id
      @name = name || ""
      @key = keys.refused(hub_id)
      @list = keys.refusing
      @commands = commands
      @closing = closing
      @lock = Mutex.new
      @calls = Unanswered.new
    end

    def note(task, queue, error)
      return unless task.is_a?(String)

      @lock.synchronize do
        next if @denied

        @calls.count(task, queue, error, now_ms)
        @thread ||= Thread.new { tell } if @calls.recent?
      end
    end

    # Tells what is not told yet, where Redis is there; +closing+ is set.
    def close = @lock.synchronize { @thread }&.join(FAREWELL_S)

    private

    def now_ms = Clock.now * 1000

    # For a minute after the last one, until that has left the window.
    def tell
      @closing.wait(FIRST_S)
      loop do
        last = @closing.set?
        write if @lock.synchronize { @calls.changed?(now_ms) } && there?
        break if over?(last)

        @closing.wait(EVERY_S)
      end
    end

    # Nothing else may have used the connection yet.
    def there? = @commands.ready? || @commands.wait_ready(@closing, EVERY_S)

    def over?(last) = @lock.synchronize { (last || @denied || !@calls.recent?).tap { |over| @thread = nil if over } }

    def write
      redis_ms = @commands.at(@key).now_ms
      whose = { name: @name, host: Socket.gethostname, pid: Process.pid }
      text = @lock.synchronize { @calls.text(now_ms, redis_ms, whose) }
      Connection.checked(@commands.without_waiting.run(*commands_of(text, redis_ms)))
    rescue *Connection::PROBLEMS => e
      @lock.synchronize do
        # A user whose rights are of an earlier version: this hub goes on as earlier ones did.
        @denied = Refusals.about_rights?(Errors.message_of(e))
        @calls.again
      end
    end

    def commands_of(text, redis_ms)
      [
        ["SET", @key, text, "PX", MEMORY_MS],
        ["ZADD", @list, redis_ms, @hub_id],
        ["ZREMRANGEBYSCORE", @list, "-inf", redis_ms - MEMORY_MS],
        ["ZREMRANGEBYRANK", @list, 0, -MAX_HUBS - 1],
        ["PEXPIRE", @list, MEMORY_MS]
      ]
    end
  end
end
