# frozen_string_literal: true

require_relative "../../queue/job_queue"
require_relative "../../wire/clock"
require_relative "../../wire/keys"
require_relative "../patience"

module Pshub
  module Roles
    # Does in other queues what an end here asks for, on a thread of its own: the next step of a chain is put in there, a batch is told.
    # It is held here until it is done there, like a request, and adopted when this worker dies; whoever repeats it finds that it was
    # done.
    class Forward
      HELD = /\Aout:([A-Za-z0-9_.-]+):([A-Za-z0-9_-]+)\z/.freeze
      TALLY = /\Atally ([A-Za-z0-9_-]+) ([A-Za-z0-9_-]+) ([A-Za-z]+)\z/.freeze

      # What is held under +id+ by +worker_id+; tried so often, and not again before +not_before+.
      Out = Struct.new(:id, :text, :worker_id, :tries, :not_before)

      # +crew+ is asked for #worker_id, and told of each #problem.
      def initialize(crew, keys, queue, connection, slots)
        @crew = crew
        @keys = keys
        @queue = queue
        @connection = connection
        @slots = slots
        @queues = {}
        @patience = Patience.new(connection) { |error| crew.problem("forward", error) }
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @waiting = []
        @busy = false
      end

      def start = @thread = Thread.new { serve }

      # Pairs of held id and text.
      def send_outs(outs, worker_id)
        @lock.synchronize do
          outs.each { |id, text| @waiting << Out.new(id, text, worker_id, 0, 0.0) if @slots.know(id) }
          @changed.broadcast
        end
      end

      # Returns when all that was given here is done, or after so many seconds.
      def drained(patience)
        finish = Clock.now + patience
        @lock.synchronize do
          while (@busy || @waiting.any?) && (left = finish - Clock.now).positive?
            @changed.wait(@lock, left)
          end
        end
      end

      # What is not done yet stays held: the next worker adopts it.
      def stop
        @patience.stop
        @lock.synchronize { @changed.broadcast }
        @thread&.join
      end

      private

      def serve
        until @patience.over?
          out = next_out or next
          done = out.worker_id != @crew.worker_id || do_there(out)
          @lock.synchronize do
            @busy = false
            @waiting << put_off(out) unless done
            @changed.broadcast
          end
        end
      end

      def next_out
        @lock.synchronize do
          soonest = @waiting.min_by(&:not_before)
          left = soonest && (soonest.not_before - Clock.now)
          return if @patience.over?
          return @changed.wait(@lock, left) && nil if left.nil? || left.positive?

          @busy = true
          @waiting.delete_at(@waiting.index { |each| each.equal?(soonest) })
        end
      end

      # One that is refused does not hold up the others.
      def put_off(out)
        out.not_before = Clock.now + Patience.pause(out.tries)
        out.tries += 1
        out
      end

      # True when it is done there, and held no more.
      def do_there(out)
        _, name, id = HELD.match(out.id.b).to_a
        # What was pushed by hand there goes as it came.
        target = queue_of(name) if Keys.queue_name?(name)
        _, *tally = TALLY.match(out.text.b).to_a
        return false unless @patience.done? { put_there(out, target, tally) }

        # It is released, so this is no part of what is tried again: what remembers it there goes by itself where this fails.
        @patience.done? { target.forget(@connection, id) } if target && tally.empty?
        true
      end

      def put_there(out, target, tally)
        if target
          tally.empty? ? target.forward(@connection, out.text) : target.tally(@connection, *tally)
        end
        @connection.one(*@queue.release_command(out.worker_id, [out.id]))
        # Not remembered: should Redis forget this, it is done again, and known to have come where it did.
        @slots.forget([out.id])
      end

      def queue_of(name) = @queues[name] ||= JobQueue.new(name, @keys)
    end
  end
end
