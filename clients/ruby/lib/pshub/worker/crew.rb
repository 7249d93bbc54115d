# frozen_string_literal: true

require "monitor"
require_relative "../catalogue/registrar"
require_relative "../figures/busy_share"
require_relative "../queue/job_queue"
require_relative "../queue/queue"
require_relative "../redis/boot_check"
require_relative "../redis/connection"
require_relative "../redis/connections"
require_relative "../redis/failures"
require_relative "../redis/refusals"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/ids"
require_relative "../wire/keys"
require_relative "../wire/redis_clock"
require_relative "../wire/stop"
require_relative "executor"
require_relative "nested"
require_relative "roles/adopt"
require_relative "roles/beat"
require_relative "roles/due"
require_relative "roles/farewell"
require_relative "roles/fetch"
require_relative "roles/forward"
require_relative "roles/inspect"
require_relative "roles/intake"
require_relative "roles/pause"
require_relative "roles/reconcile"
require_relative "roles/settle"
require_relative "roles/settle_jobs"
require_relative "roles/tick"
require_relative "sharding"
require_relative "slots"
require_relative "unserved"

module Pshub
  # One worker at work: identity and life, and the roles that do what is done in between. The roles know this and not each other.
  class Crew
    # How long the start waits for Redis, and the end for the last confirmations.
    PATIENCE_S = 2.0

    attr_reader :worker_id

    def initialize(settings, tasks, events)
      @worker_id = Ids.make
      @settings = settings
      @events = events
      @tasks = tasks
      @slots = Slots.new(settings.slots, settings.job_slots || (settings.slots / 2.0).ceil)
      @clock = RedisClock.new
      @keys = Keys.new(settings.namespace)
      @queue = TaskQueue.new(settings.queue, @keys)
      @job_queue = JobQueue.new(settings.queue, @keys)
      here = @keys.queue(settings.queue).calls
      # Other nodes of a Cluster, with the registry or the replies of some hub, may be away: nothing of this queue waits for them.
      @commands, @waiting = Connections.pair("worker", settings.redis, events).map { |each| each.at(here).without_waiting }
      @sharding = Sharding.new(settings.queue)
      @registrar = Registrar.new(@keys, @queue, tasks, settings, events)
      @busy_share = BusyShare.new(settings.slots)
      @lock = Monitor.new
      @identity = Monitor.new
      @stopping = Stop.new
      @grace_over = Stop.new
      @stopped = Stop.new
      @beats = Thread::Queue.new
      @state = :new
      make_roles
    end

    # Returns when the worker is registered, or after some two seconds while Redis is away: it goes on trying then. Raises
    # ConfigError when this Redis cannot keep the promises.
    def start
      @state = :running
      unfit = @inspect.look if @commands.wait_ready(@stopping, PATIENCE_S)
      return if @stopping.set?

      if unfit.nil? then @waiter = Thread.new { serve if @inspect.wait_until_fit }
      elsif unfit.empty? then serve
      else refuse(unfit)
      end
    end

    # Takes no more work, lets what runs finish for so many seconds, puts the rest back. A second call may shorten the first.
    def stop(grace_s)
      first = @lock.synchronize do
        next false if @leaving

        @leaving = true
      end
      timer = Thread.new { @stopped.wait(grace_s) || @grace_over.set }
      leave if first
      @stopped.wait
      timer.join
    end

    def busy = @slots.busy

    # What roles ask and tell.

    def lease_certain? = @beat.certain?
    def beat_now = @beat.beat_now
    def epoch = @sharding.epoch
    def home_of(key) = @sharding.home_of(key)
    def move(job, shard, held_by, now_us) = @forward.move(job, shard, held_by, now_us)
    def serving? = @state == :running
    def settle(settlement) = (settlement.job ? @settle_jobs : @settle).add(settlement)
    def due_bell = [@due, @tick].each(&:ring)
    def ticks? = Roles::Tick.able?
    def forward(outs, held_by) = @forward.send_outs(outs, held_by)
    def unserved(task) = @unserved.verdict(task)
    def ignore_claims_of(ids, now_us) = @intake.ignore_claims_of(ids, now_us)
    def answer(adopted, held_by) = @adopt.answer(adopted, held_by)

    # +reason+ is an error, or a text.
    def problem(where, reason)
      reason = Errors.message_of(reason) if reason.is_a?(Exception)
      @events.emit("problem", where: where, reason: Refusals.explained(reason))
    end

    # Returns how long to rest before the next claim.
    def claimed(claimed, claimed_by, age_s)
      # Under an identity that was lost others have adopted it; and none is lost in the middle of this.
      @identity.synchronize { claimed_by == @worker_id ? @intake.take(claimed, claimed_by, age_s) : 0.0 }
    end

    # How long ago, on Redis' clock, a claim was made; also finds out whether the lease is still held.
    def age_s(claimed)
      raise ConnectionLost, "the lease could not be renewed" unless @beat.beat_now

      (@clock.at_us(Clock.now) - claimed.now_us) / 1e6
    end

    # The lease was lost: others own what we held. What runs is aborted and settles nothing; we go on as somebody new.
    def become_new
      before = @worker_id
      aborted = @identity.synchronize do
        @worker_id = Ids.make
        @executor.abandon_all(WorkerLost.new("The lease of the worker ended.")).tap { @slots.reset }
      end
      @events.emit("lease:lost", worker: before, queue: @queue.name, aborted: aborted)
    end

    # The worker as others see it, at this time of Redis.
    def stats(seen_ms)
      {
        "seen" => seen_ms, "busy" => @slots.busy, "draining" => !serving?, "counters" => @intake.counters,
        "busyShare" => @busy_share.look(@slots.used_s), "rssBytes" => BusyShare.rss_bytes
      }.compact
    end

    def publish(now_ms)
      @registrar.publish(@commands, @worker_id, now_ms, stats(now_ms), @intake.measures)
    rescue StandardError
      @intake.measures.repeat
      raise
    end

    # The first beat was held: others see this worker from now on.
    def registered
      @events.emit("worker:started", worker: @worker_id, queue: @queue.name, slots: @slots.size, tasks: @tasks.keys)
    end

    def beaten(beat, held)
      @sharding.note_beat(beat)
      @pause.beaten(beat)
      beat.cancelled.each { |id| @executor.abort(id, Aborted.new("The caller gave up waiting.")) }
      @adopt.note_beat
      return unless serving?

      [@due, @tick].each { |role| role.note_beat(beat) }
      @beats << [beat, held, @beat.sent_at]
    end

    # Requests that only another worker can run.
    def hand_back_to_others(requests)
      ids = requests.map(&:held_id)
      @events.emit("request:handedback", queue: @queue.name, task: requests.first.task, count: ids.size)
      # Did it fail, reconcile finds them.
      @slots.forget(ids)
      @queue.handback(@commands, @worker_id, "tail", ids)
    rescue *Connection::PROBLEMS => e
      problem("handback", e) if e.is_a?(ReplyError)
    end

    private

    def make_roles
      @nested = NestedCalls.new(@settings, @events)
      @executor = Executor.new(@tasks, @settings.slots, @settings.max_payload_bytes, @nested)
      @inspect = Roles::Inspect.new(@commands, @keys, @queue.name, @events, @stopping)
      @intake = Roles::Intake.new(self, @keys, @queue.name, @tasks, @executor, @slots, @clock, @events)
      @settle = Roles::Settle.new(self, @queue, @commands, @slots)
      @settle_jobs = Roles::SettleJobs.new(self, @queue, @job_queue, @commands, @slots)
      @due = Roles::Due.new(self, @job_queue, @commands, @clock)
      @tick = Roles::Tick.new(self, @job_queue, @commands, @clock, @events)
      @forward = Roles::Forward.new(self, @keys, @queue, @job_queue, @commands, @slots)
      @fetch = Roles::Fetch.new(self, @queue, @waiting, @commands, @slots, @clock, @tasks.values.select(&:merged?))
      @beat = Roles::BeatLoop.new(self, @queue, @commands, @settings.lease, @clock)
      @pause = Roles::Pause.new(self, @queue.name, @fetch, @events)
      @reconcile = Roles::Reconcile.new(self, @queue, @commands, @slots)
      @adopt = Roles::Adopt.new(self, @keys, @queue, @commands, @slots, @clock, @events)
      @unserved = Unserved.new(@queue.name) { |task| @registrar.whereabouts(task, @commands) }
      @farewell = Roles::Farewell.new(self, @queue, @commands, @registrar, @slots, @clock)
    end

    def serve
      return if @stopping.set?

      @known = true
      @executor.deadlines.start
      [@settle, @settle_jobs, @forward, @due, @tick].each(&:start)
      @beat.beat_now
      @beat.start
      @fetch.start
      @upkeep = Thread.new { upkeep }
      @watch = Thread.new { @inspect.watch }
    end

    def refuse(unfit)
      [@waiting, @commands].each(&:close)
      @stopping.set
      @stopped.set
      raise ConfigError, BootCheck.refusal(unfit)
    end

    # What each beat sets off: it may take long, and must not hold up the next beat.
    def upkeep
      while (latest = @beats.pop)
        # Only the latest counts.
        latest = @beats.pop until @beats.empty?
        break if latest.nil?

        beat, held, sent_at = latest

        begin
          @reconcile.look(held, beat.now_us, sent_at) if held
          @adopt.adopt_from(beat.ended)
        rescue StandardError => e
          # It is tried again with a later beat.
          problem("upkeep", e) unless e.is_a?(NotConnected) || e.is_a?(ConnectionLost)
        end
      end
    end

    # The last steps.

    def leave
      @state = :stopping
      @stopping.set
      # Before all else: a caller that counts on this worker waits for nothing until its deadline.
      @farewell.announce if @known
      @fetch.stop
      @waiting.close
      [@fetch, @waiter].compact.each(&:join)
      handed_back = @known ? @farewell.hand_back_unknown : 0
      @executor.wait_idle(@grace_over)
      abandoned = @executor.abandon_all(WorkerLost.new("The worker was stopped before the task had finished."))
      handed_back += end_of_life
      @events.emit("worker:stopped", worker: @worker_id, queue: @queue.name, handed_back: handed_back, abandoned: abandoned)
    rescue StandardError => e
      problem("stop", e)
    ensure
      @stopped.set
    end

    def end_of_life
      finish = Clock.now + PATIENCE_S
      [@settle, @settle_jobs, @forward].each { |role| role.drained([0, finish - Clock.now].max) }
      [@settle, @settle_jobs, @forward, @due, @tick].each(&:stop)
      @beat.stop
      @beats << nil
      [@upkeep, @watch].compact.each(&:join)
      handed_back = @known ? @farewell.leave : 0
      @executor.stop
      @nested.close
      @commands.close
      handed_back
    end
  end
end
