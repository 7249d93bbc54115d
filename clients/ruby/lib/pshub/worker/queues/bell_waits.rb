# frozen_string_literal: true

module Pshub
  # A worker's waits for bells, and what ends them early, on a thread of its own: it is told over the commands connection, and may overtake the
  # wait that is sent on another one. Then it is told again.
  class BellWaits
    # What ends a wait is sent again after this long, until that is over.
    AGAIN_S = 0.003

    # A wait that is under way for the bells of some ServedQueues. +jobs+: it listens for jobs, too; +deaf+: it does not, though jobs are taken
    # here; +unwanted+: it is to end; +told+: that was said.
    Wait = Struct.new(:queues, :jobs, :deaf, :unwanted, :told)

    def initialize(pool)
      @pool = pool
      @waits = {}.compare_by_identity
      @stopped = false
    end

    def start = @thread = Thread.new { serve }
    def ended? = @thread&.alive? == false

    # Ends its thread; the waits end with their connections.
    def stop
      @pool.synchronize do
        @stopped = true
        @pool.wake_room
      end
    end

    def join = @thread&.join

    # Inside of SlotPool#synchronize are these. A wait begins, with room for so many jobs; to be given to #close.
    def open(queues, room)
      wait = Wait.new(queues, room.positive?, @pool.takes_jobs? && !room.positive?, false, false)
      @waits[wait] = true
      hurry if wait.deaf
      wait
    end

    def close(wait)
      @waits.delete(wait)
      @pool.room_wanted = deaf?
      @pool.changed
    end

    def any? = @waits.any?
    def on?(queue) = @waits.each_key.any? { |wait| wait.queues.include?(queue) }

    # Ends those that the block is true for.
    def end_those(&block)
      ended = @waits.each_key.select(&block).each { |wait| wait.unwanted = true }
      hurry if ended.any?
    end

    private

    def deaf? = @waits.each_key.any?(&:deaf)

    def hurry
      @pool.room_wanted = deaf?
      @pool.wake_room
    end

    def serve
      while (waits = ones_to_end)
        waits.each { |wait| tell(wait) }
      end
    end

    # nil when this is stopped.
    def ones_to_end
      @pool.synchronize do
        # Those that were told in vain are told again.
        @pool.wait_room(AGAIN_S) if found.any?
        @pool.wait_room until @stopped || found.any?
        @stopped ? nil : found
      end
    end

    def found
      room = @pool.room.positive?
      @waits.each_key.select { |wait| !wait.told && (wait.unwanted || (wait.deaf && room)) }
    end

    # Who may not ask how Redis calls its connection cannot end a wait: that ends by itself.
    def tell(wait)
      queue = wait.queues.first
      client_id = queue.waiting.client_id
      wait.told = client_id.nil? || queue.queue.end_wait(queue.commands, client_id)
    end
  end
end
