# frozen_string_literal: true

require_relative "../queue/batches"
require_relative "../queue/queue"
require_relative "../redis/connection"
require_relative "../redis/connections"
require_relative "../redis/failures"
require_relative "../wire/clock"
require_relative "../wire/message"
require_relative "../wire/stop"

module Pshub
  # One reply list per hub, whatever it calls, on a thread of its own. PROTOCOL.md, section 9.4.
  #
  # Each round waits for a reply and reads all that are there, in one write. Replies are read before they are removed, so a cut
  # connection loses none: BLMOVE takes the first one and keeps it in a second list, LRANGE reads the rest, and LTRIM removes
  # those at the beginning of the next round, which is only sent once they are here.
  class Inbox
    # So many replies are read at first, and never more than that. In between the largest ones say how many.
    FIRST_PAGE = 8
    MAX_PAGE = 256
    # The first entry of the second list, which makes it with an end of life. It is no reply.
    OPENER = ""
    # The second list is cut when it holds more than this.
    MAX_KEPT_BYTES = 16_000
    # How often a full Redis, which refuses the blocking read, is asked instead.
    FULL_POLL_S = 0.02

    # +expected+ tells how many replies are waited for; while none is the inbox rests. +on_reply+ gets a reply, and true for one
    # that may have been read before, because the connection broke in between.
    def initialize(connection, key, read_key, expected:, on_reply:, on_problem:)
      @connection = connection
      @key = key
      @read_key = read_key
      @expected = expected
      @on_reply = on_reply
      @on_problem = on_problem
      @closing = Stop.new
      @lock = Mutex.new
      @woken = Clock.condition
      @rung = false
      # Entries at the head of the reply list that were delivered and are not removed yet.
      @delivered = 0
      # About what the second list holds, in bytes.
      @kept = 0
      @expires_at = 0.0
      # A round's answer was lost: what it moved may be in the second list and nowhere else.
      @unsure = false
      @failures = 0
      @page = FIRST_PAGE
    end

    def start = @thread = Thread.new { serve }

    # Called before each push, under locks of its callers: nothing of theirs is asked while this one is held.
    def wake
      @lock.synchronize do
        @rung = true
        @woken.signal
      end
    end

    # A read that blocks is left to whoever closes its connection.
    def stop
      @closing.set
      wake
      @thread&.join(Connections::BLOCK_S + 1.0)
    end

    private

    def serve
      until @closing.set?
        if @expected.call.positive? || leaves?
          turn if @connection.wait_ready(@closing)
        else
          rest
        end
      end
    end

    def rest
      @lock.synchronize do
        @woken.wait(@lock) until @rung
        @rung = false
      end
    end

    def turn
      if @unsure then read_again
      elsif @expected.call.positive? then deliver(round, false)
      else tidy
      end
      @failures = 0 unless @unsure
    rescue *Connection::PROBLEMS => e
      recover(e) unless @closing.set?
    end

    def round
      expire = Clock.now > @expires_at - (TaskQueue::REPLY_TTL_MS / 2000.0)
      trim = @kept > MAX_KEPT_BYTES
      # A lone caller can have no second reply; each command costs it some of its wait.
      look = @expected.call > 1
      commands = []
      commands << ["LTRIM", @key, @delivered, -1] if @delivered.positive?
      # Made by BLMOVE it would stay for ever where this process is killed before more is run.
      commands.push(["RPUSH", @read_key, OPENER], ["PEXPIRE", @read_key, TaskQueue::REPLY_TTL_MS]) if expire
      at = commands.size
      commands << ["BLMOVE", @key, @read_key, "LEFT", "RIGHT", Connections::BLOCK_S]
      commands << ["LTRIM", @read_key, -1, -1] if trim
      commands << ["LRANGE", @key, 0, @page - 1] if look
      answers = Connection.checked(@connection.run(*commands))
      rest = look ? answers[at + (trim ? 2 : 1)] : []
      @delivered = rest.size
      @kept = 0 if trim
      if expire
        @expires_at = Clock.now + (TaskQueue::REPLY_TTL_MS / 1000.0)
        @kept += 1
      end
      moved = answers[at] or return rest
      @kept += moved.bytesize + 64
      [moved, *rest]
    end

    # Whether something of this inbox is in Redis that nobody needs any more once all calls are settled.
    def leaves? = @unsure || @delivered.positive? || @kept.positive?

    # Nobody waits: leaves nothing behind.
    def tidy
      commands = [["UNLINK", @read_key]]
      commands << ["LTRIM", @key, @delivered, -1] if @delivered.positive?
      Connection.checked(@connection.run(*commands))
      @delivered = @kept = 0
      @expires_at = 0.0
    end

    def deliver(page, again)
      page.each do |text|
        reply = Message.decode_reply(text)
        reply ? @on_reply.call(reply, again) : @on_problem.call("dropped an invalid reply")
      end
      longest = page.map(&:bytesize).max or return
      # Twice as many at the most: a page is asked for before anybody knows how large its replies are.
      @page = (Batches::MAX_BYTES / [longest, 1].max).clamp(1, [@page * 2, MAX_PAGE].min)
    end

    # Whether the last round was run is unknown now: nothing is removed before both lists were read again.
    def recover(error)
      refused = error.is_a?(ReplyError)
      full = refused && error.full?
      # What passes by itself the callers hear of.
      @on_problem.call(error.message) if refused && !full && !error.passing?
      # The trim ahead of a refused command was run, and may be run again only with a new count.
      @delivered = 0
      @expires_at = 0.0
      # Where Redis refuses even this and nobody waits, what is left goes by itself.
      @unsure = @expected.call.positive? || !refused || error.passing?
      @kept = 0 unless @unsure
      @closing.wait(full ? FULL_POLL_S : Clock.backoff(@failures, 0.01, 1.0))
      @failures += 1
    end

    # Reads both lists from their beginning; what was delivered before is recognised by its id. A full Redis, which refuses
    # BLMOVE, is read this way all along.
    def read_again
      kept, waiting = Connection.checked(@connection.run(["LRANGE", @read_key, 0, -1], ["LRANGE", @key, 0, @page - 1]))
      @unsure = false
      @kept = kept.sum { |text| text.bytesize + 64 }
      @delivered = waiting.size
      deliver((kept - [OPENER]) + waiting, true)
    end
  end
end
