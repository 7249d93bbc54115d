# frozen_string_literal: true

require "monitor"
require_relative "../wire/clock"

module Pshub
  # How long a list may be, by what a hub sees of it. Every reply tells how long its request waited on Redis' clock, and its push
  # told how many were ahead of it: their quotient is the time that one place in the list takes, with all workers and all callers
  # in it. Where that errs it errs to the short side, so that nothing is refused that could have been served.
  #
  # A list that is as long as deadlines allow serves no more than a short one, and everything in it waits long. So one that stands
  # is kept at its target, a little more than the slots take at once twice, until a push finds it all but empty. It stands when
  # every push of an interval found the target or more, while it was served and went down no faster than if hardly less was called
  # than served. A burst goes down faster, and passes. PROTOCOL.md, section 9.6. Used by several threads.
  class Forecast
    # A length of the list is believed this long; then the next push looks again.
    BELIEVED_S = 0.05
    # After this long without a reply, or so many runs, nothing is known of the rate any more.
    RATE_MEMORY_S = 10.0
    RATE_MEMORY_RUNS = 20
    # What each reply leaves of the older ones' weight.
    DECAY = 0.9
    # What was seen of a list is taken to hold for one this many times as long, and no further.
    REACH = 4
    # A place takes as long as a run divided by the slots. When much more is measured, nothing was served meanwhile, and that is
    # over. When less is, requests were dropped whose time was up: to count those as served would let in more of them.
    MOST = 2
    LEAST = 0.9
    OVERHEAD_S = 0.0001
    # What was late is taken to have needed its time so often: nobody knows, and where nothing is answered a small step is lost time.
    MISS = 2
    # A call is rejected if its estimated wait exceeds this share of its time: the estimate is uncertain.
    PATIENCE = 0.8
    # The shortest interval; in runs, so that tasks of seconds have bursts of seconds; in places, so that chance fills no lone
    # slot's list; and as a part of what callers can wait, so that a pause is no overload to those who have time.
    LEAST_INTERVAL_S = 0.1
    INTERVAL_RUNS = 5
    INTERVAL_PLACES = 16
    INTERVAL_PART = 0.1
    # What loses this part of what is served goes by itself, for less is called than served; so many intervals are waited for it.
    GOING_PART = 0.25
    GOING_INTERVALS = 10
    # When no push found the list empty for so long, then its first ones do not wait for a claim to arrive, but for a slot.
    BUSY_S = 0.05
    # The target in slots: those that end together find the list filled for one more round of theirs, and one is left.
    TARGET_SLOTS = 2
    # And in time, for tasks so short that what comes must wait for pushes and claims.
    TARGET_S = 0.01
    # Without a look for this long, or for an interval, nothing is known of the list any more.
    LOOK_MEMORY_S = 1.0
    NEVER = Float::INFINITY

    # Slots of all live workers: so many requests are taken at once when nothing waits.
    attr_accessor :slots

    def initialize
      @lock = Monitor.new
      @slots = 1
      @waited = @places = @busy = @replies = @reach = 0.0
      @sampled_at = @seen_at = @stood_at = -Float::INFINITY
      @length = @longest = 0
      # About the longest time that calls had left when they were pushed.
      @left = 0.0
      # Nothing was answered yet, and what is known comes from what was late.
      @guess = false
      # Since when every push found something in the list; since when the target or more; the interval that is looked at.
      @waiting_since = @long_since = @interval_from = NEVER
      @risen = @stands = false
    end

    # A request with +ahead+ others before it waited this long, and then kept a slot busy.
    def learn(ahead, waited_s, busy_s)
      @lock.synchronize do
        now = Clock.now
        # It waited for a worker that stood still, which is none of its caller's doing: what came meanwhile may take its time to go.
        stalled = waited_s - ((ahead + 1) * place)
        long_from(@length, now) if @long_since != NEVER && stalled > interval
        kept = rate_known?(now) && !@guess ? DECAY : 0.0
        # Summed apart, so that one that waited behind many counts for more than one that found a slot idle.
        @waited = (@waited * kept) + waited_s
        @places = (@places * kept) + ahead + 1
        @busy = (@busy * kept) + busy_s
        @replies = (@replies * kept) + 1
        @reach = [@reach * kept, ahead + 1].max
        @sampled_at = now
        @guess = false
      end
    end

    # A request with +ahead+ others before it was not answered within +seconds+. Where all of them are late, nothing else tells: it
    # waited and ran for so long at least, and all slots did what it did.
    def miss(ahead, seconds)
      @lock.synchronize do
        return if rate_known?(Clock.now) && !@guess

        late = MISS * seconds / (ahead + 1 + @slots)
        learn(ahead, late * (ahead + 1), late * @slots)
        @guess = true
      end
    end

    # A push found the list at this length, and left +added+ more in it.
    def see(length, added, left = 0.0)
      @lock.synchronize do
        now = Clock.now
        @left = [left, @left * DECAY].max
        @waiting_since = @long_since = NEVER if forgotten?(now)
        @waiting_since = length.zero? ? NEVER : [@waiting_since, now].min
        # At the target all slots may end at once and leave half of it, never as little as this.
        @stands = stands_at?(now) ? length > @slots / 4.0 : standing?(length, now)
        @stood_at = now if @stands
        @length = length + added
        @seen_at = now
      end
    end

    # About how many are in the list, when it was seen a moment ago; else nil.
    def length
      @lock.synchronize do
        age = Clock.now - @seen_at
        place.zero? || age > BELIEVED_S ? nil : [0.0, @length - (age / place)].max
      end
    end

    # Seconds until a request behind +ahead+ others is taken, as far as that is known; else 0.
    def wait_s(ahead)
      @lock.synchronize do
        now = Clock.now
        rate_known?(now) ? (ahead + 1 - idle(now)).clamp(0, @reach * REACH) * place : 0.0
      end
    end

    # How long a call with so much time left can wait, so that its task can still be run. Half of its time at most is kept for the
    # run: the mean of all tasks of a queue may be far from this one's.
    def patience_s(left_s)
      @lock.synchronize do
        known_run = rate_known?(Clock.now) ? run : 0.0
        [0.0, left_s - [known_run, left_s / 2.0].min].max * PATIENCE
      end
    end

    # How many requests may be in the list for one more with so much time left; infinity when nothing is known.
    def length_within(left_s)
      @lock.synchronize do
        now = Clock.now
        most = most_at(now)
        return most if !rate_known?(now) || place.zero?

        places = patience_s(left_s) / place
        places >= @reach * REACH ? most : [most, [1, idle(now) + places.floor].max].min
      end
    end

    private

    # Whether the list was long for an interval, in which something was served and it became no shorter to speak of.
    def standing?(length, now)
      @longest = [@longest, length].max
      if length < target
        @long_since = NEVER
      elsif @long_since == NEVER
        long_from(length, now)
      elsif now - @interval_from >= (@risen ? interval : interval / 2) && @sampled_at >= @long_since
        return true if @risen && !going?(length, now)

        # The first look was at the beginning of a burst, perhaps: a list that became longer since may be going already.
        @risen = true
        @interval_from = now
        @longest = length
      end
      false
    end

    def going?(length, now)
      served = (now - @interval_from) / place
      @longest - length > served * GOING_PART && now - @long_since < interval * GOING_INTERVALS
    end

    def long_from(length, now)
      @long_since = @interval_from = now
      @risen = false
      @longest = length
    end

    # How long the list may be, whoever calls: no longer than its target while it stands.
    def most_at(now)
      return target if stands_at?(now)

      # Perhaps it was empty for a moment only, when a hub paused or a lot expired: it is not a first burst that may fill it.
      now - @stood_at > memory ? Float::INFINITY : 2 * target
    end

    def stands_at?(now) = @stands && !forgotten?(now)
    def forgotten?(now) = now - @seen_at > memory
    def memory = [LOOK_MEMORY_S, interval].max

    def interval
      return RATE_MEMORY_S if @replies.zero?

      [LEAST_INTERVAL_S, run * [INTERVAL_RUNS, INTERVAL_PLACES.fdiv(@slots)].max, @left * INTERVAL_PART].max
    end

    # The length with which no slot waits for work.
    def target = [(TARGET_SLOTS * @slots) + 1, place.zero? ? 0 : (TARGET_S / place).floor].max

    # Slots that may take at once what is pushed: none when others wait for them, and not just for a claim to arrive.
    def idle(now) = now - @waiting_since > BUSY_S ? 0 : @slots

    def rate_known?(now) = now - @sampled_at < [RATE_MEMORY_S, RATE_MEMORY_RUNS * run].max

    # As it was last known; 0 when nothing ever was.
    def run = @replies.zero? ? 0.0 : @busy / @replies

    # The same.
    def place
      return 0.0 if @replies.zero?

      part = run / @slots
      [[@waited / @places, LEAST * part].max, (MOST * part) + OVERHEAD_S].min
    end
  end
end
