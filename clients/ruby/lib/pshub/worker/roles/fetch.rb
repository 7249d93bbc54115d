# frozen_string_literal: true

require_relative "../../queue/bells"
require_relative "../../redis/connection"
require_relative "../../redis/connections"
require_relative "../../redis/failures"
require_relative "../../wire/clock"
require_relative "../queues/bell_waits"

module Pshub
  module Roles
    # Takes work for idle slots and for nothing else, on a thread of its own: with no slot idle it does not touch Redis.
    #
    # 1. One claim is under way at a time, for one of the places that the worker serves, so that they share the slots.
    # 2. While the last claims left work in the lists the next one is sent at once, where any of the places with work is as likely; else it
    #    waits for the bells. A wait for those of a single place takes the claim with it.
    # 3. While as many jobs run as may, it does not listen for further ones: their bell would wake it again and again. When one of them
    #    ends, that wait is ended.
    # 4. Calls of all places go before jobs of any. While one place keeps it busy it looks for the tokens of the others' bells.
    # 5. After a claim that brought what only others can run its place rests: that is in the list again. Were these jobs, only its jobs do,
    #    and calls of a worker's own tasks need not wait for jobs of others.
    # 6. While the queue is paused it takes nothing. The claim behind a wait that is ended then still runs: it is in Redis.
    # 7. On a Cluster nobody can wait for keys of different slots at once: each of several places has a wait of its own, which goes on while
    #    others are claimed from, and is ended when there is no room for what it would bring.
    class Fetch
      # An answer that is older, because this process was stopped or got no turn, is only used after a look at the lease.
      STALE_US = 100_000
      # While it has work of one place it looks so often what the bells of the others say.
      LOOK_S = 0.02

      # +stopping+ is set when no claim is to be started any more.
      def initialize(pool, stopping)
        @pool = pool
        @stopping = stopping
        @waits = BellWaits.new(pool)
        @queues = []
        @looked_at = @doubted_at = -Float::INFINITY
      end

      def start
        @waits.start
        @thread = Thread.new { serve }
      end

      def ended? = @thread&.alive? == false || @waits.ended?

      # From now on this place is served, too; its crew is asked for #worker_id, #epoch, #age_s and #beat_now, and told #claimed, which tells how
      # long to rest, #due_bell and #problem.
      def add(queue)
        change do
          @queues += [queue]
          @waits.end_those { true }
        end
      end

      # When a claim was sent whose answer is coming in, which takes seconds on a slow link, or is here and not taken yet; infinite where there
      # is none.
      def arriving_since(queue)
        @pool.synchronize { @claiming == queue && (@here || queue.waiting.receiving?) ? @claimed_at : Float::INFINITY }
      end

      # The contrary. Returns when no claim is under way there.
      def remove(queue)
        change do
          @queues -= [queue]
          @waits.end_those { |wait| wait.queues.include?(queue) }
          @pool.wait while @claiming == queue || @waits.on?(queue)
        end
      end

      # Takes nothing more there until #resume. To be said with each beat of the pause: what began at that moment does not know of the first.
      def pause(queue)
        change do
          queue.pause
          @waits.end_those { |wait| wait.queues.include?(queue) }
        end
      end

      def resume(queue)
        change do
          queue.resume
          @waits.end_those { |wait| !wait.queues.include?(queue) }
        end
      end

      # To be called behind +stopping+; a claim that waits for a bell ends when its connection is closed.
      def stop
        @waits.stop
        change { nil }
      end

      # Returns when no claim is under way.
      def join
        @thread&.join
        @waits.join
        @pool.synchronize { @pool.wait while @waits.any? }
      end

      private

      def change
        @pool.synchronize do
          yield
          @pool.changed
        end
      end

      def serve
        while (awake = wait_for_work)
          sure = @pool.synchronize { choose(awake) }
          if sure || @queues.size == 1 then claim(sure || awake.first, waits: sure.nil?)
          elsif spread? then awake.each { |queue| listen_there(queue) }
          else listen(awake.first)
          end
        end
      end

      # Places that may be claimed from, or listened to, when there is room for what that brings; nil when this is stopped.
      def wait_for_work
        @pool.synchronize do
          until @stopping.set?
            doubt_bells
            awake = awake_ones
            return awake if @pool.idle.positive? && awake.any? && (!listens? || choose(awake) || awake.any? { |each| !@waits.on?(each) })

            @pool.wait(@pool.idle.positive? ? seconds_left : nil)
          end
        end
      end

      def awake_ones
        now = Clock.now
        @queues.select { |queue| queue.awake?(now) }
      end

      def several? = @queues.size > 1
      # Of a Cluster one whose node is away must not keep the others back: it rests.
      def spread? = several? && @queues.first.commands.spread?
      # What brings work are other threads, and not this one.
      def listens? = spread?

      # Until a rest is over, or bells are doubted; nil where nothing of that is to come.
      def seconds_left
        now = Clock.now
        ends = @queues.map(&:rests_until).select { |at| at > now }
        ends << (@doubted_at + Connections::BLOCK_S) if several?
        ends.any? ? [ends.min - now, 0.001].max : nil
      end

      # A token may be lost with whoever took it; while another place rings again and again, no wait for that one's comes to its end.
      def doubt_bells
        return unless several? && Clock.now >= @doubted_at + Connections::BLOCK_S

        @doubted_at = Clock.now
        @queues.each { |queue| queue.hear(true, true) }
      end

      # The one to claim from without waiting for a bell.
      def choose(awake)
        awake.select(&:calls_wait?).sample || (awake.select { |each| each.jobs_wait? && each.takes_jobs? }.sample if @pool.room.positive?)
      end

      def claim(queue, waits:)
        way = waits ? queue.waiting : queue.commands
        return unless spread? || way.wait_ready(@stopping)

        look_beside(queue) if several?
        slots, jobs, wait = begin_claim(queue, waits)
        return unless slots

        worker_id = queue.crew.worker_id
        claimed = ask(queue, worker_id, slots, jobs, waits)
        return without_lease(queue) unless claimed

        @pool.synchronize do
          @here = true
          queue.learn(claimed)
        end
        rest_s, of_jobs = queue.crew.claimed(claimed, worker_id, age_s(queue, claimed))
        @pool.synchronize { of_jobs ? queue.rest_jobs(rest_s) : queue.rest(rest_s) } if rest_s.positive?
      rescue StandardError => e
        # Also one of this package: a claim must not end this thread.
        failed(queue, e)
      ensure
        end_claim(wait)
      end

      # How many slots are idle and how many of them may go to jobs, and the wait, if any. nil where there is nothing to claim any more.
      def begin_claim(queue, waits)
        @pool.synchronize do
          return unless @queues.include?(queue) && queue.awake?(Clock.now) && @pool.idle.positive? && !@stopping.set?

          takes = queue.takes_jobs? && awake_ones.none? { |each| each != queue && each.calls_wait? }
          jobs = takes ? @pool.room : 0
          @claiming, @claimed_at, @here = queue, Clock.now, false
          queue.begin_claim(jobs)
          [@pool.idle, jobs, (@waits.open([queue], @pool.room) if waits)]
        end
      end

      def end_claim(wait)
        @pool.synchronize do
          @claiming = nil
          wait ? @waits.close(wait) : @pool.changed
          next unless @waits.any?

          idle, room = @pool.idle.positive?, @pool.room.positive?
          @waits.end_those { |each| !idle || (each.jobs && !room) }
        end
      end

      def ask(queue, worker_id, slots, jobs, waits)
        way = waits ? queue.waiting : queue.commands
        how = { wait: (wait_s([queue]) if waits), epoch: queue.crew.epoch, merging: queue.merging }
        queue.queue.claim(way, worker_id, slots, jobs, **how) { queue.crew.due_bell }
      end

      # What the bells of the other places say.
      def look_beside(queue)
        return if Clock.now < @looked_at + LOOK_S

        @looked_at = Clock.now
        others = awake_ones.reject { |each| each == queue || !each.commands.ready? }
        by_name = others.to_h { |each| [each.name, each] }
        return if others.empty?

        Bells.look(queue.commands, others.map(&:queue)) do |other, calls, jobs|
          @pool.synchronize { by_name[other.name].hear(calls, jobs) }
        end
      rescue *Connection::PROBLEMS
        # The next look, or the next wait, tells.
        nil
      end

      # Waits until a bell of several places rings that are in one. Claims follow then, one by one: together they would bring more than
      # there is room for.
      def listen(first)
        return unless first.waiting.wait_ready(@stopping)

        wait = @pool.synchronize do
          queues = awake_ones.shuffle
          @waits.open(queues, @pool.room) unless queues.empty? || choose(queues) || @stopping.set?
        end
        hear(wait, [wait_s(wait.queues), seconds_left].compact.min) if wait
      end

      # For how many seconds to wait for the bells of these: until one of them takes jobs again that does not now.
      def wait_s(queues)
        now = Clock.now
        rests = queues.reject { |queue| queue.takes_jobs?(now) }.map { |queue| queue.jobs_rest_until - now }
        [[Connections::BLOCK_S, *rests].min, 0.01].max.round(3)
      end

      # The same for one of several that are on different nodes, on a thread of its own.
      def listen_there(queue)
        wait = @pool.synchronize { @waits.open([queue], @pool.room) unless @waits.on?(queue) || @stopping.set? }
        Thread.new { hear(wait, wait_s([queue])) } if wait
      end

      def hear(wait, seconds)
        by_name = wait.queues.to_h { |queue| [queue.name, queue] }
        jobs_of = wait.jobs ? wait.queues.select(&:takes_jobs?).map(&:queue) : []
        rung, kind = Bells.wait(wait.queues.first.waiting, wait.queues.map(&:queue), jobs_of, seconds)
        return unless rung

        heard = by_name[rung.name]
        @pool.synchronize { heard.hear(kind == :calls, kind == :jobs) }
        heard.crew.due_bell if kind == :due
      rescue StandardError => e
        wait.queues.each { |queue| failed(queue, e) }
      ensure
        @pool.synchronize { @waits.close(wait) }
      end

      # The answer may be lost with the claim made: what it took is found by reconcile. A wait that broke may have taken the token with
      # it, and what that announced still waits.
      def failed(queue, error)
        lost = error.is_a?(NotConnected) || error.is_a?(ConnectionLost)
        passes = lost || (error.is_a?(ReplyError) && error.passing? && queue.waiting.spread?)
        queue.crew.problem("fetch", error) unless passes || @stopping.set?
        @pool.synchronize do
          queue.hear(true, true)
          queue.rest_after_failure(0.02)
        end
      end

      # Deadlines went on while the answer waited here, and so did the lease: what it brought may be somebody else's by now.
      def age_s(queue, claimed)
        now_us = queue.clock.at_us(Clock.now)
        stale = !claimed.requests.empty? && (now_us.zero? || now_us - claimed.now_us > STALE_US)
        stale ? asked_age(queue, claimed) : 0.0
      end

      # Asked until there is an answer: on a slow link the other connection may be made anew just then, and what was claimed would have to come
      # once more, again and again.
      def asked_age(queue, claimed)
        worker_id = queue.crew.worker_id
        tries = 0
        begin
          queue.crew.age_s(claimed)
        rescue NotConnected, ConnectionLost
          raise if @stopping.set? || worker_id != queue.crew.worker_id

          @stopping.wait(Clock.backoff(tries, 0.02, 1.0))
          queue.commands.wait_ready(@stopping)
          tries += 1
          retry
        end
      end

      def without_lease(queue)
        queue.crew.beat_now
        @pool.synchronize do
          # The bell's token is taken, and what it announced still waits.
          queue.hear(true, true)
          # A beat that failed, on a full disk for one, must not make this a busy loop.
          queue.failures.zero? ? queue.fail_once : queue.rest_after_failure(0.05)
        end
      end
    end
  end
end
