# frozen_string_literal: true

require "set"
require_relative "../redis/connection"
require_relative "../redis/failures"
require_relative "../wire/clock"
require_relative "../wire/streams"

module Pshub
  # The streams that a hub reads: a thread tells their workers how much of each was taken, when that is much, and from time to time, so
  # that a worker sees that somebody is still there. What is said holds for all before it, so a word that is lost costs time alone.
  class OpenStreams
    AGAIN_S = 0.1

    # The block is told of what Redis refuses.
    def initialize(hub_id, keys, connection, closing, &on_problem)
      @hub_id = hub_id
      @keys = keys
      @connection = connection
      @closing = closing
      @on_problem = on_problem
      @lock = Mutex.new
      @changed = Clock.condition
      @open = Set.new.compare_by_identity
      @to_say = Set.new.compare_by_identity
      @said = Set.new.compare_by_identity
      @to_forget = []
    end

    def size = @open.size

    def add(stream)
      @lock.synchronize do
        @open << stream
        @thread = Thread.new { serve } unless @thread&.alive?
      end
    end

    def taken(stream) = change { @to_say << stream if @open.include?(stream) }

    def ended(stream)
      change do
        @open.delete(stream)
        @to_say.delete(stream)
        @to_forget << stream.id if @said.delete?(stream)
      end
    end

    # Once all have ended.
    def stop
      change { nil }
      @thread&.join(1)
    end

    private

    def change
      @lock.synchronize do
        yield
        @changed.broadcast
      end
    end

    def serve
      loop do
        says, forgets = next_words
        return unless says

        begin
          words = says.map { |stream| ["SET", @keys.taken(@hub_id, stream.id), stream.taken, "PX", Streams::TAKEN_MS] }
          words += forgets.map { |id| ["UNLINK", @keys.taken(@hub_id, id)] }
          Connection.checked(@connection.run(*words)) if words.any?
        rescue *Connection::PROBLEMS => e
          return if @closing.set?

          refused = e.is_a?(ReplyError) && !e.passing?
          @on_problem.call(e) if refused
          @lock.synchronize do
            @to_say.merge(says.select { |stream| @open.include?(stream) })
            @to_forget.concat(forgets) unless refused
          end
          @closing.wait(AGAIN_S)
          @connection.wait_ready(@closing)
        end
      end
    end

    # nil at the end: nothing is open, and nothing is to be said.
    def next_words
      @lock.synchronize do
        finish = Clock.now + Streams::TAKEN_AGAIN_S
        while @to_say.empty? && @to_forget.empty?
          return @thread = nil if @open.empty?

          left = finish - Clock.now
          left.positive? ? @changed.wait(@lock, left) : (break @to_say.merge(@open))
        end
        says = @to_say.select(&:id)
        forgets, @to_forget = @to_forget, []
        @to_say.clear
        @said.merge(says)
        [says, forgets]
      end
    end
  end
end
