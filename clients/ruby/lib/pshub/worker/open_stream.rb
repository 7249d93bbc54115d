# frozen_string_literal: true

require_relative "../redis/connection"
require_relative "../wire/clock"
require_relative "../wire/streams"

module Pshub
  # What a run yields, on its way to the list of its caller. PROTOCOL.md, section 9.10. Numbered from 1, one push at a time, so that they
  # are there in their order. The handler's thread puts; a thread of its own pushes, and asks what was taken.
  class OpenStream
    # Bytes of chunks that may lie untaken, but for a single one that is larger; and so many are pushed in one write at the most.
    MAX_UNTAKEN = 1_000_000
    MAX_TOGETHER = 128
    # How often a caller that has taken too little is asked: at first, and in the end.
    FIRST_LOOK_S = 0.001
    LONGEST_LOOK_S = 0.1
    # Without a word of what is taken its caller is asked for after this long.
    LOOK_S = 2.0
    # A handler that waits looks this often whether it is to stop.
    WAKE_S = 0.1

    # How many chunks there were.
    attr_reader :count

    # +way+ is told to #push texts, which is true when that was done, and asked for what was #taken; it is told when the caller is #gone.
    def initialize(request, context, way)
      @id = request.id
      @window = request.asked.window
      @context = context
      @way = way
      @lock = Mutex.new
      @changed = Clock.condition
      @count = @pushed = @taken = @untaken_bytes = 0
      @texts = []
      @sizes = []
      @looked_at = @silent_since = Clock.now
      # Also before the first one: its caller may be gone by then.
      @thread = Thread.new { serve }
    end

    # Takes one chunk, as JSON. Returns when a next one may come, or when the run is to stop.
    def put(json)
      @lock.synchronize do
        text = Streams.chunk(@id, @count += 1, json)
        @texts << text
        @sizes << text.bytesize
        @untaken_bytes += text.bytesize
        @changed.broadcast
        @changed.wait(@lock, WAKE_S) until room? || @broken || @context.cancelled?
      end
    end

    # Returns when all are in Redis, or nobody wants them.
    def finish
      @lock.synchronize do
        @finished = true
        @changed.broadcast
        @changed.wait(@lock, WAKE_S) until @pushed >= @count || @broken || @context.cancelled?
      end
    end

    private

    def room?
      untaken = @count - @taken
      untaken.zero? || (untaken < @window && @untaken_bytes < MAX_UNTAKEN)
    end

    def serve
      wait_s = FIRST_LOOK_S
      loop do
        texts, wanting = next_texts(wait_s)
        break unless texts

        push(texts) if texts.any?
        wait_s = texts.any? ? FIRST_LOOK_S : [wait_s * 2, LONGEST_LOOK_S].min
        look if wanting || Clock.now - @looked_at >= LOOK_S
      end
    ensure
      # Whatever ended it: nobody waits for it.
      @lock.synchronize do
        @broken = true
        @changed.broadcast
      end
    end

    # What is to be pushed, and whether it is time to ask what was taken; nil at the end.
    def next_texts(wait_s)
      @lock.synchronize do
        if @texts.empty?
          return nil if @finished || @broken

          @changed.wait(@lock, room? ? LOOK_S : wait_s)
        end
        return nil if @texts.empty? && @finished

        bytes = 0
        texts = @texts.take([MAX_TOGETHER, @texts.size].min).take_while { |text| (bytes += text.bytesize) <= MAX_UNTAKEN }
        texts = @texts.first(1) if texts.empty?
        @texts.shift(texts.size)
        [texts, @count - @taken >= @window / 2 || !room?]
      end
    end

    def push(texts)
      done = @way.push(texts)
      @lock.synchronize do
        @pushed += texts.size
        @broken = true unless done
        @changed.broadcast
      end
    end

    def look
      @looked_at = Clock.now
      heard(@way.taken)
    rescue *Connection::PROBLEMS
      # What Redis has forgotten while it was away is said again soon.
      @silent_since = Clock.now
    end

    def heard(taken)
      if taken.nil?
        @way.gone if (Clock.now - @silent_since) * 1000 >= Streams::TAKEN_MS
        return
      end
      @silent_since = Clock.now
      @lock.synchronize do
        more = [taken, @count].min - @taken
        next unless more.positive?

        @untaken_bytes -= @sizes.shift(more).sum
        @taken += more
        @changed.broadcast
      end
    end
  end
end
