# frozen_string_literal: true

require_relative "../../jobs/job_text"
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
      HELD = /\Aout:([A-Za-z0-9_.-]+):([A-Za-z0-9_-]+)\z/
      TALLY = /\Atally ([A-Za-z0-9_-]+) ([A-Za-z0-9_-]+) ([A-Za-z]+)\z/

      # What is held under +id+ by +worker_id+ until +act+ has done it, whoever repeats that; then +forget+ has the other queue forget
      # that it was done. Tried so often, and not again before +not_before+.
      Errand = Struct.new(:id, :worker_id, :act, :forget, :tries, :not_before, :is_done)

      # +crew+ is asked for #worker_id, and told of each #problem.
      def initialize(crew, keys, queue, job_queue, connection, slots)
        @crew = crew
        @keys = keys
        @queue = queue
        @job_queue = job_queue
        @connection = connection
        @slots = slots
        @queues = {}
        @patience = Patience.new(connection) { |error| crew.problem("forward", error) }
        @lock = Mutex.new
        @changed = Clock.condition
        @waiting = []
        @busy = false
      end

      def start = @thread = Thread.new { serve }
      def ended? = @thread&.alive? == false

      # Pairs of held id and text.
      def send_outs(outs, worker_id)
        outs.each do |id, text|
          next unless @slots.know(id)

          @slots.send_out(id)
          add(errand(id, text, worker_id))
        end
      end

      # A job that was taken and belongs into another shard: there it is put in, and here, behind that, the next one of its key may be
      # taken. +now_us+ is Redis' time at this moment.
      def move(request, shard, worker_id, now_us)
        id, target, since = request.held_id, queue_of(shard), Clock.now
        at = @slots.at_of(id)
        @slots.send_out(id)
        moved = JobEnd.new(id, "moved", 0, shard, "")
        act = lambda do
          target.forward(@connection, JobText.moved(request.text, now_us + ((Clock.now - since) * 1e6).round))
          @job_queue.settle(@connection, worker_id, [moved], [at])
        end
        add(Errand.new(id, worker_id, act, -> { target.forget(@connection, request.id) }, 0, 0.0))
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

      def add(errand)
        @lock.synchronize do
          @waiting << errand
          @changed.broadcast
        end
      end

      def serve
        until @patience.over?
          errand = next_errand or next
          done = errand.worker_id != @crew.worker_id || do_there(errand)
          @lock.synchronize do
            @busy = false
            @waiting << put_off(errand) unless done
            @changed.broadcast
          end
        end
      end

      def next_errand
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
      def put_off(errand)
        errand.not_before = Clock.now + Patience.pause(errand.tries)
        errand.tries += 1
        errand
      end

      # True when it is done there, held no more, and no longer remembered there. Each part is retried by itself: behind its release it must
      # not be done again.
      def do_there(errand)
        unless errand.is_done
          return false unless @patience.done? { errand.act.call }

          errand.is_done = true
          # Not remembered as released: should Redis forget this, it is done again, and known to have come where it did.
          @slots.forget([errand.id])
        end
        @patience.done? { errand.forget.call }
      end

      def errand(held_id, text, worker_id)
        _, name, id = HELD.match(held_id.b).to_a
        # What was pushed by hand there goes as it came.
        target = queue_of(name) if Keys.queue_name?(name)
        _, *tally = TALLY.match(text.b).to_a
        act = lambda do
          if target
            tally.empty? ? target.forward(@connection, text) : target.tally(@connection, *tally)
          end
          @connection.one(*@queue.release_command(worker_id, [held_id]))
        end
        Errand.new(held_id, worker_id, act, -> { target.forget(@connection, id) if target && tally.empty? }, 0, 0.0)
      end

      def queue_of(name) = @lock.synchronize { @queues[name] ||= JobQueue.new(name, @keys) }
    end
  end
end
