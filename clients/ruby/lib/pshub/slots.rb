# frozen_string_literal: true

module Pshub
  # What a worker holds, and which of its slots are taken. A request is known from its claim until Redis confirmed its release,
  # which is longer than it runs; whatever Redis says we hold and is not known here was claimed by an answer that got lost.
  class Slots
    attr_reader :size

    def initialize(size)
      @size = size
      @lock = Mutex.new
      @changed = ConditionVariable.new
      # By held id: since when it has a slot, or nil for what was taken over from a lost worker and takes none.
      @known = {}
      @used_s = 0.0
    end

    def busy = @lock.synchronize { taken }
    def knows?(id) = @lock.synchronize { @known.key?(id) }
    def known_ids = @lock.synchronize { @known.keys }

    # Idle slots, when there are any or +stop+ is set; waits for that.
    def wait_idle(stop)
      @lock.synchronize do
        @changed.wait(@lock) until stop.set? || taken < @size
        @size - taken
      end
    end

    # False when the request is known already: it must not run twice.
    def take(id) = know(id, Clock.now)

    # The same without a slot.
    def know(id, since = nil)
      @lock.synchronize do
        return false if @known.key?(id)

        @known[id] = since
        true
      end
    end

    # It stays held, but its slot is for others.
    def free(id)
      @lock.synchronize do
        use(id)
        @known[id] = nil if @known.key?(id)
        @changed.signal
      end
    end

    # Redis confirmed that these are not held any more.
    def forget(ids)
      @lock.synchronize do
        ids.each do |id|
          use(id)
          @known.delete(id)
        end
        @changed.signal
      end
    end

    # After the identity changed: nothing of before counts.
    def reset = forget(known_ids)

    def wake = @lock.synchronize { @changed.broadcast }

    # Time used since the start, all slots together.
    def used_s
      now = Clock.now
      @lock.synchronize { @used_s + @known.each_value.sum { |since| since ? now - since : 0.0 } }
    end

    private

    def taken = @known.each_value.count(&:itself)

    def use(id)
      since = @known[id]
      @used_s += Clock.now - since if since
    end
  end
end
