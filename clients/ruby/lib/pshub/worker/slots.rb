# frozen_string_literal: true

require_relative "../wire/clock"

module Pshub
  # What a worker holds, and how many of its slots run something. A request is known from its claim until Redis confirmed its
  # release, which is longer than it runs; whatever Redis says we hold and is not known here was claimed by an answer that got
  # lost, or released by one that a failover took back.
  class Slots
    # Room that one running request takes. Counted by this token and not by the request's id, which may come twice.
    Slot = Struct.new(:since, :job)

    # So many may wait for other nodes of a Cluster without being counted as held.
    MOST_STUCK = 1000

    attr_reader :size

    # +job_slots+: the most that run jobs at once.
    def initialize(size, job_slots = 0)
      @size = size
      @job_slots = job_slots
      @lock = Mutex.new
      @changed = ConditionVariable.new
      @known = {}
      @stuck = {}
      @busy = {}.compare_by_identity
      @released = RecentIds.new
      @used_s = 0.0
    end

    def busy = @lock.synchronize { @busy.size }
    def knows?(id) = @lock.synchronize { @known.key?(id) }
    def known_ids = @lock.synchronize { @known.keys }

    # How many requests may be claimed, when there are any or +stop+ is set; waits for that.
    def wait_idle(stop)
      @lock.synchronize do
        @changed.wait(@lock) until stop.set? || idle.positive?
        idle
      end
    end

    # Whether this worker takes jobs at all.
    def takes_jobs? = @job_slots.positive?

    # How many more jobs may run, as far as slots are idle.
    def job_room = @lock.synchronize { room }

    # Returns when there is room for a job, or the block says so, which is asked whenever something changes here.
    def wait_room
      @lock.synchronize { @changed.wait(@lock) until yield || room.positive? }
    end

    # Marks a request as known. False when it is already: it must not run twice.
    def know(id)
      @lock.synchronize { @known.key?(id) ? false : @known[id] = true }
    end

    # A request starts.
    def take(job: false)
      slot = Slot.new(Clock.now, job)
      @lock.synchronize { @busy[slot] = true }
      slot
    end

    # It ended; the slot can be given to another one at once. Repeating it is harmless.
    def free(slot)
      @lock.synchronize do
        @used_s += Clock.now - slot.since if @busy.delete(slot)
        @changed.broadcast
      end
    end

    # What ended here and cannot be told to another node of a Cluster: it takes no room from what others hear of.
    def stick(ids)
      @lock.synchronize do
        ids.each { |id| @stuck[id] = true if @known.key?(id) }
        @changed.broadcast
      end
    end

    # Not held here any more: others have it.
    def forget(ids)
      @lock.synchronize do
        ids.each { |id| [@known, @stuck].each { |each| each.delete(id) } }
        @changed.broadcast
      end
    end

    # Redis confirmed that these are not held any more.
    def released(ids)
      @lock.synchronize { ids.each { |id| @released.add(id) } }
      forget(ids)
    end

    # Whether this worker settled and released it a while ago: a replica that was promoted may not have heard of that.
    def released?(id) = @lock.synchronize { @released.include?(id) }

    # After the identity changed: nothing of before counts.
    def reset
      @lock.synchronize { @busy.keys }.each { |slot| free(slot) }
      forget(known_ids)
    end

    def wake = @lock.synchronize { @changed.broadcast }

    # Time used since the start, all slots together.
    def used_s
      now = Clock.now
      @lock.synchronize { @used_s + @busy.each_key.sum { |slot| now - slot.since } }
    end

    private

    def room = [0, [@job_slots - @busy.each_key.count(&:job), idle].min].max

    # One for each idle slot, unless three times as many as there are slots are held. That is what a busy worker comes to: what
    # runs, what is answered, and what is on its way to be released. Beyond that Redis refuses releases, or does not answer, and
    # what this worker holds must not grow without an end.
    def idle = [@size - @busy.size, (3 * @size) - (@known.size - [@stuck.size, MOST_STUCK].min)].min
  end

  # Ids of the last one to two minutes, or the last 200,000 to 400,000 if these are fewer. Nothing is forgotten while nothing comes.
  class RecentIds
    # A replica is seconds behind at most, unless its link is broken; then others would promote it after a minute or so.
    REMEMBERED_S = 60.0
    # Some 100 bytes each.
    MOST = 200_000

    def initialize(most = MOST)
      @most = most
      @ids = {}
      @before = {}
      @since = Clock.now
    end

    def add(id)
      now = Clock.now
      if now - @since > REMEMBERED_S || @ids.size >= @most
        @before = @ids
        @ids = {}
        @since = now
      end
      @ids[id] = true
    end

    def include?(id) = @ids.key?(id) || @before.key?(id)
  end
end
