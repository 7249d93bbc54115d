# frozen_string_literal: true

require_relative "../../wire/clock"

module Pshub
  # One of the places that a worker serves, as its claims see it. What changes here, changes inside of SlotPool#synchronize.
  class ServedQueue
    # +crew+ serves it; +waiting+ and +commands+ are the ways there; +merging+ are the tasks whose jobs are merged.
    attr_reader :crew, :queue, :waiting, :commands, :clock, :merging

    def initialize(crew, queue, waiting, commands, clock, merging = [])
      @crew = crew
      @queue = queue
      @waiting = waiting
      @commands = commands
      @clock = clock
      @merging = merging
      # What the last claims left in its lists, and bells told of since.
      @calls_wait = true
      @jobs_wait = @paused = false
      @rests_until = @jobs_rest_until = 0.0
      # Claims in a row that brought no answer.
      @failures = 0
    end

    attr_reader :rests_until, :jobs_rest_until, :failures

    def name = @queue.name
    def calls_wait? = @calls_wait
    def jobs_wait? = @jobs_wait
    def awake?(now) = !@paused && now >= @rests_until

    # What is heard from here on may have come behind the claim.
    def begin_claim(jobs)
      @calls_wait = false
      @jobs_wait = false if jobs.positive?
    end

    def learn(claimed)
      @failures = 0
      hear(claimed.left.positive?, claimed.jobs_left.positive?)
    end

    # What bells tell: calls wait, or jobs.
    def hear(calls, jobs)
      @calls_wait ||= calls
      @jobs_wait ||= jobs
    end

    # Whether its jobs may be claimed when it is.
    def takes_jobs?(now = Clock.now) = now >= @jobs_rest_until

    # Nothing is claimed for so long.
    def rest(seconds) = @rests_until = Clock.now + seconds
    # The same of its jobs, while its calls are taken.
    def rest_jobs(seconds) = @jobs_rest_until = Clock.now + seconds

    # Longer each time, until there is an answer.
    def rest_after_failure(first_s)
      rest(Clock.backoff(@failures, first_s, 1.0))
      @failures += 1
    end

    def fail_once = @failures += 1
    def pause = @paused = true

    def resume
      @paused = false
      # Tokens of the bells may be gone, and what they announced still waits.
      hear(true, true)
    end
  end
end
