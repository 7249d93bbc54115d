# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/streams"

module Pshub
  # What comes of one call before its reply, for the thread that reads it. It hears on the hub's own threads.
  class Stream
    attr_reader :asked, :taken
    attr_accessor :call

    # Why a stream cannot be asked for, beside what is wrong with its call; nil when it can.
    def self.wrong(called, idle)
      return nil if idle.nil? || (idle.is_a?(Numeric) && idle.real? && idle.positive?)

      InvalidArgs.new("stream #{called}: idle must be a number of seconds above 0, not #{idle.inspect[0, 80]}.", task: called)
    end

    # +host+ is told when much was #taken, and to #give_up. +progress+ is a ProgressListener, or nil.
    def initialize(called, host, idle, progress)
      @called = called
      @host = host
      @idle = idle
      @progress = progress
      @asked = Asked.new(Streams::WINDOW, !progress.nil?)
      @lock = Mutex.new
      @changed = Clock.condition
      @chunks = []
      @came = @taken = @said = 0
      @heard_at = Clock.now
    end

    # Of its request, each try of which has one of its own; nil while its task is looked up.
    def id = @call&.attempt&.id

    # Something came before the reply.
    def part(part)
      wrong = @lock.synchronize do
        return if @ended

        @heard_at = Clock.now
        @changed.broadcast
        add(part) unless part.key?("progress")
      end
      return give_up(wrong) if wrong

      @progress&.part(part)
    end

    # Its call has ended; +chunks+ is how many its worker pushed, where that said so.
    def settled(value, error, chunks)
      error ||= @lock.synchronize { gap } if chunks && chunks != @came
      finish(value, error)
    end

    # Yields each chunk, in order. Returns what the handler returned, or raises what the call failed by.
    def each
      while (chunk = wait)
        yield chunk.first
      end
      raise @error if @error

      @value
    ensure
      give_up(Aborted.new("The caller stopped reading #{@called}.", task: @called, id: id)) unless @ended
    end

    private

    # What is wrong with it, if anything is.
    def add(part)
      number = part["chunk"]
      # A push whose answer was lost was repeated.
      return if number <= @came
      return gap if number != @came + 1

      @came = number
      @chunks << [part["value"]]
      nil
    end

    # The next chunk in an array; nil at the end.
    def wait
      began_at = Clock.now
      loop do
        say, chunk, over = look(began_at)
        @host.stream_taken(self) if say
        return chunk if chunk
        return nil if over

        look_after(began_at)
      end
    end

    def look(began_at)
      @lock.synchronize do
        if @chunks.empty? && !@ended
          left = [idle_end(began_at), @host.next_look(@call)].min - Clock.now
          @changed.wait(@lock, left) if left.positive?
        end
        chunk = @chunks.shift
        @taken += 1 if chunk
        say = chunk && !@ended && @taken - @said >= Streams::WINDOW / 2
        @said = @taken if say
        [say, chunk, @ended && chunk.nil?]
      end
    end

    # Whether the time of something has come.
    def look_after(began_at)
      now = Clock.now
      @host.expire(@call) if now >= @host.next_look(@call)
      return if now < idle_end(began_at)

      message = "#{@called} sent no chunk for #{(@idle * 1000).round} ms after #{@came} chunks."
      give_up(Timeout.new(message, task: @called, id: id))
    end

    def idle_end(began_at) = @idle ? [began_at, @heard_at].max + @idle : Float::INFINITY

    def gap
      message = "Chunk #{@came + 1} of #{@called} was lost: Redis no longer has it. All chunks before it arrived."
      OutcomeUnknown.new(message, task: @called, id: id)
    end

    def give_up(error)
      finish(nil, error)
      @host.cancel(@call)
    end

    def finish(value, error)
      @lock.synchronize do
        return if @ended

        @ended = true
        @value = value
        @error = error
        @changed.broadcast
      end
      @host.stream_ended(self)
    end
  end
end
