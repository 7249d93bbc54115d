# frozen_string_literal: true

require_relative "../wire/clock"

module Pshub
  # What a worker holds of one place, and which of its slots run something of it. A request is known from its claim until Redis confirmed its
  # release, which is longer than it runs; whatever Redis says we hold and is not known here was claimed by an answer that got
  # lost, or released by one that a failover took back.
  class Slots
    # Room that one running request takes. Counted by this token and not by the request's id, which may come twice.
    Slot = Struct.new(:since, :job)

    # +pool+: the worker's, for all places.
    def initialize(pool)
      @pool = pool
      # With the +at+ of a job, as Redis has it: a further try comes under the same id with another one.
      @known = {}
      @stuck = {}
      # What is to be done in other queues.
      @outs = {}
      @busy = {}.compare_by_identity
      @released = RecentIds.new
      @used_s = 0.0
    end

    # All that the worker has, for all of its places.
    def size = @pool.size
    def busy = @pool.synchronize { @busy.size }
    def knows?(id) = @pool.synchronize { @known.key?(id) }
    def known_ids = @pool.synchronize { @known.keys }

    # Marks a request as known. False when it is already: it must not run twice. A job that is known with another +at+ was settled here, and
    # the answer to that is not here yet.
    def know(id, at = "")
      @pool.synchronize do
        known = @known[id]
        next false if known == at

        @pool.hold(1) unless known
        @known[id] = at
        true
      end
    end

    # The +at+ that a job is known with.
    def at_of(id) = @pool.synchronize { @known.fetch(id, "") }

    # It is to be done in another queue, and nothing here waits for that.
    def send_out(id)
      @pool.synchronize do
        next if @outs.key?(id)

        @outs[id] = true
        @pool.hold(-1)
        @pool.send_out(1)
        @pool.changed
      end
    end

    # A request starts.
    def take(job: false)
      slot = Slot.new(Clock.now, job)
      @pool.synchronize do
        @busy[slot] = true
        @pool.take(1, job ? 1 : 0)
      end
      slot
    end

    # It ended; the slot can be given to another one at once. Repeating it is harmless.
    def free(slot)
      @pool.synchronize do
        if @busy.delete(slot)
          @used_s += Clock.now - slot.since
          @pool.take(-1, slot.job ? -1 : 0)
        end
        @pool.changed
      end
    end

    # What ended here and cannot be told to another node of a Cluster: it takes no room from what others hear of.
    def stick(ids)
      @pool.synchronize do
        ids.each do |id|
          next if !@known.key?(id) || @stuck.key?(id)

          @stuck[id] = true
          @pool.stick(1)
        end
        @pool.changed
      end
    end

    # Not held here any more: others have it.
    def forget(ids)
      @pool.synchronize do
        ids.each do |id|
          if @known.delete(id)
            @outs.delete(id) ? @pool.send_out(-1) : @pool.hold(-1)
          end
          @pool.stick(-1) if @stuck.delete(id)
        end
        @pool.changed
      end
    end

    # Redis confirmed that these, ids with their +at+, were put where they belong. One that has come again since is held still.
    def settled(jobs)
      forget(@pool.synchronize { jobs.select { |id, at| @known[id] == at } }.map(&:first))
    end

    # Redis confirmed that these are not held any more.
    def released(ids)
      @pool.synchronize { ids.each { |id| @released.add(id) } }
      forget(ids)
    end

    # Whether this worker settled and released it a while ago: a replica that was promoted may not have heard of that.
    def released?(id) = @pool.synchronize { @released.include?(id) }

    # After the identity changed: nothing of before counts.
    def reset
      @pool.synchronize { @busy.keys }.each { |slot| free(slot) }
      forget(known_ids)
    end

    # Time used since the start, all slots together.
    def used_s
      now = Clock.now
      @pool.synchronize { @used_s + @busy.each_key.sum { |slot| now - slot.since } }
    end
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
