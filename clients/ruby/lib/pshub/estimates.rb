# frozen_string_literal: true

module Pshub
  # How long a task runs at least, as far as its last runs tell: a low expectile, because what it decides is that a request cannot
  # finish any more. Seconds.
  class RunTimes
    # Faster runs pull ten times as hard as slower ones do.
    DOWN = 0.3
    UP = 0.03
    # Without a run for this long a task counts as unknown: else one that was slow for a while would never run again.
    MEMORY_S = 5.0
    MAX_TASKS = 10_000

    def initialize
      @lock = Mutex.new
      @known = {}
    end

    # A run that succeeded.
    def note(task, seconds)
      now = Clock.now
      @lock.synchronize do
        before, at = @known[task]
        if at && now - at < MEMORY_S
          seconds = before + ((seconds < before ? DOWN : UP) * (seconds - before))
        elsif @known.size >= MAX_TASKS
          @known.clear
        end
        @known[task] = [seconds, now]
      end
    end

    # 0 for a task that did not run lately.
    def of(task)
      seconds, at = @lock.synchronize { @known[task] }
      at && Clock.now - at < MEMORY_S ? seconds : 0.0
    end
  end

  # How long a request pushed now would wait in its queue. Every reply tells how long its request waited on Redis' clock, and its
  # push told how many were ahead of it: their quotient is the time that one place in the list takes, with all workers and all
  # callers in it. Where it errs it errs to the short side, so that nothing is refused that could have been served.
  class Forecast
    # A length of the list is believed this long; then the next push looks again.
    BELIEVED_S = 0.05
    # After this long without a reply nothing is known of the rate any more.
    RATE_MEMORY_S = 10.0
    # What each reply leaves of the older ones' weight.
    DECAY = 0.9
    # What was seen of a list is taken to hold for one this many times as long, and no further.
    REACH = 4
    # A place takes as long as a run divided by the slots. When much more is measured, nothing was served meanwhile, and that is
    # over. When less is, requests were dropped whose time was up: to count those as served would let in more of them.
    MOST = 2
    LEAST = 0.9
    OVERHEAD_S = 0.0001

    # Slots of all live workers: so many requests are taken at once when nothing waits.
    attr_accessor :slots

    def initialize
      @slots = 1
      @waited = @places = @busy = @replies = @reach = 0.0
      @sampled_at = @seen_at = -Float::INFINITY
      @length = 0
    end

    # A request with +ahead+ others before it waited this long, and then kept a slot busy.
    def learn(ahead, waited_s, busy_s)
      now = Clock.now
      kept = now - @sampled_at < RATE_MEMORY_S ? DECAY : 0.0
      @waited = (@waited * kept) + waited_s
      @places = (@places * kept) + ahead + 1
      @busy = (@busy * kept) + busy_s
      @replies = (@replies * kept) + 1
      @reach = [@reach * kept, ahead + 1].max
      @sampled_at = now
    end

    # A push left the list at this length.
    def see(length)
      @length = length
      @seen_at = Clock.now
    end

    # About how many are in the list, when it was seen a moment ago; else nil.
    def length
      age = Clock.now - @seen_at
      return nil if age > BELIEVED_S || place.zero?

      [0.0, @length - (age / place)].max
    end

    # Seconds until a request behind +ahead+ others is taken, as far as that is known; else 0.
    def wait_s(ahead) = [0.0, [ahead + 1 - @slots, @reach * REACH].min].max * place

    # How many requests may be in the list for the last of them to wait no longer than this; infinity when that is not known.
    def length_within(patience_s)
      places = place.zero? ? Float::INFINITY : patience_s / place
      places < @reach * REACH ? @slots + places.floor : Float::INFINITY
    end

    private

    def place
      return 0.0 if Clock.now - @sampled_at >= RATE_MEMORY_S || @places.zero?

      run = @busy / @replies / @slots
      [[@waited / @places, LEAST * run].max, (MOST * run) + OVERHEAD_S].min
    end
  end

  # What all calls of a hub may spend on retries, so that they add a tenth to the load at most: a bucket that calls fill.
  class RetryBudget
    MOST = 10.0
    # Tries of one call, the first included.
    MAX_TRIES = 3

    def initialize
      @lock = Mutex.new
      @tokens = MOST
    end

    # Whether a failed call may be sent again without harm. Not after WorkerLost: an idempotent call whose worker died was run
    # elsewhere already. Not when the deadline has passed or the queue is overloaded: more load would not help.
    def self.allows?(error, idempotent)
      return true if error.is_a?(NotEnqueued)

      idempotent && (error.is_a?(OutcomeUnknown) || (error.is_a?(TaskFailed) && error.retryable))
    end

    def on_call
      @lock.synchronize { @tokens = [MOST, @tokens + 0.1].min }
    end

    def take
      @lock.synchronize do
        return false if @tokens < 1

        @tokens -= 1
        true
      end
    end
  end
end
