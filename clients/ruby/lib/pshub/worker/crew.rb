# frozen_string_literal: true

require "monitor"
require_relative "../catalogue/registrar"
require_relative "../figures/busy_share"
require_relative "../queue/job_queue"
require_relative "../queue/queue"
require_relative "../redis/connection"
require_relative "../redis/failures"
require_relative "../redis/refusals"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/ids"
require_relative "../wire/redis_clock"
require_relative "executor"
require_relative "queues/served_queue"
require_relative "roles/adopt"
require_relative "roles/beat"
require_relative "roles/due"
require_relative "roles/farewell"
require_relative "roles/forward"
require_relative "roles/hearing"
require_relative "roles/intake"
require_relative "roles/pause"
require_relative "roles/reconcile"
require_relative "roles/retreat"
require_relative "roles/settle"
require_relative "roles/settle_jobs"
require_relative "roles/tick"
require_relative "slots"
require_relative "unserved"

module Pshub
  # What serves one place of a worker's queue, under an identity of its own: the roles that do it. These know this and not each other.
  class Crew
    # How long the last confirmations are waited for.
    PATIENCE_S = 2.0

    # What the crews of one worker share. +commands+ and +waiting+ are Connections; +serving+ tells whether the worker takes work.
    Common = Struct.new(:settings, :tasks, :events, :keys, :commands, :waiting, :pool, :threads, :nested, :fetch, :sharding, :serving,
                        keyword_init: true)

    attr_reader :worker_id

    # The block is told of the crew when it holds nothing, and its place is none of the queue any more. +serves+ tells whether the worker
    # serves a queue.
    def initialize(common, name, serves, &on_gone)
      @common = common
      @worker_id = Ids.make
      @events = common.events
      @tasks = common.tasks
      @on_gone = on_gone
      @slots = Slots.new(common.pool)
      @clock = RedisClock.new
      @queue = TaskQueue.new(name, common.keys)
      @job_queue = JobQueue.new(name, common.keys)
      here = common.keys.queue(name).calls
      # Other nodes of a Cluster, with the registry or the replies of some hub, may be away: nothing of this queue waits for them.
      @commands, @waiting = [common.commands, common.waiting].map { |each| each.at(here).without_waiting }
      @registrar = Registrar.new(common.keys, @queue, @tasks, common.settings, @events, &serves)
      @busy_share = BusyShare.new(common.pool.size)
      @identity = Monitor.new
      @beats = Thread::Queue.new
      make_roles
    end

    def start
      @known = true
      [@settle, @settle_jobs, @forward, @due, @tick, @beat].each(&:start)
      @upkeep = Thread.new { upkeep }
    end

    def name = @queue.name

    # Names of threads that should live and do not.
    def ended_threads
      { "beat" => @beat, "settle" => @settle, "settle_jobs" => @settle_jobs, "forward" => @forward, "due" => @due, "tick" => @tick }
        .select { |_, role| role.ended? }.keys + (@upkeep&.alive? == false ? ["upkeep"] : [])
    end

    # What roles ask and tell.

    def lease_certain? = @beat.certain?
    def beat_now = @beat.beat_now
    def epoch = @common.sharding.epoch_of(name)
    def home_of(key) = @common.sharding.home_of(name, key)
    def move(job, shard, held_by, now_us) = @forward.move(job, shard, held_by, now_us)
    def serving? = !@leaving && @common.serving.call
    def settle(settlement) = (settlement.job ? @settle_jobs : @settle).add(settlement)
    def abort_run(held_id, reason) = @executor.abort(held_id, reason)
    def heard(request) = @hearing.finish(request)
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
      @identity.synchronize { claimed_by == @worker_id ? @intake.take(claimed, claimed_by, age_s) : [0.0, false] }
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
      @events.emit("lease:lost", worker: before, queue: name, aborted: aborted)
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
      @common.fetch.add(@served)
      @events.emit("worker:started", worker: @worker_id, queue: name, slots: @slots.size, tasks: @tasks.keys,
                                    build: @common.settings.build)
    end

    def beaten(beat, held)
      @events.emit("worker:beat", worker: @worker_id, queue: name, slots: @slots.size, busy: @slots.busy)
      @pause.beaten(beat)
      beat.cancelled.each { |id| @executor.abort(id, Aborted.new("The caller stopped waiting.")) }
      @adopt.note_beat
      return unless serving?

      @common.sharding.note_beat(name, beat.shards) if beat.held
      [@due, @tick].each { |role| role.note_beat(beat) }
      @beats << [beat, held, @beat.sent_at]
    end

    # Requests that only another worker can run.
    def hand_back_to_others(requests)
      ids = requests.map(&:held_id)
      @events.emit("request:handedback", queue: name, task: requests.first.task, count: ids.size)
      # Did it fail, reconcile finds them.
      @slots.forget(ids)
      @queue.handback(@commands, @worker_id, "tail", ids)
    rescue *Connection::PROBLEMS => e
      problem("handback", e) if e.is_a?(ReplyError)
    end

    # The last steps.

    # Before all else: a caller that counts on this worker waits for nothing until its deadline.
    def announce
      @leaving = true
      @farewell.announce if @known
    end

    # Takes nothing from its place any more, while others are still served.
    def retreat = @common.fetch.remove(@served)

    # When nothing is claimed here any more: lets what runs finish until +grace_over+ is set, puts the rest back, ends the lease. Returns what is
    # told of the end.
    def leave(grace_over)
      handed_back = @known ? @farewell.hand_back_unknown : 0
      @executor.wait_idle(grace_over)
      abandoned = @executor.abandon_all(WorkerLost.new("The worker was stopped before the task had finished."))
      handed_back += end_of_life
      { worker: @worker_id, queue: name, handed_back: handed_back, abandoned: abandoned }
    end

    private

    def make_roles
      common = @common
      @executor = Executor.new(@tasks, common.threads, common.settings.max_payload_bytes, common.nested, -> { @hearing })
      @hearing = Roles::Hearing.new(self, @queue, @job_queue, @commands, common.commands.without_waiting)
      @intake = Roles::Intake.new(self, common.keys, name, @tasks, @executor, @slots, @clock, @events)
      @settle = Roles::Settle.new(self, @queue, @commands, @slots)
      @settle_jobs = Roles::SettleJobs.new(self, @queue, @job_queue, @commands, @slots)
      @due = Roles::Due.new(self, @job_queue, @commands, @clock)
      @tick = Roles::Tick.new(self, @job_queue, @commands, @clock, @events)
      @forward = Roles::Forward.new(self, common.keys, @queue, @job_queue, @commands, @slots)
      @served = ServedQueue.new(self, @queue, @waiting, @commands, @clock, @tasks.values.select(&:merged?))
      @beat = Roles::BeatLoop.new(self, @queue, @commands, common.settings.lease, @clock)
      @pause = Roles::Pause.new(self, @served, common.fetch, @events)
      @reconcile = Roles::Reconcile.new(self, @queue, @commands, @slots)
      @retreat = Roles::Retreat.new(common.keys.queue(name), @commands, @slots)
      @adopt = Roles::Adopt.new(self, common.keys, @queue, @commands, @slots, @clock, @events)
      @unserved = Unserved.new(name) { |task| @registrar.whereabouts(task, @commands) }
      @farewell = Roles::Farewell.new(self, @queue, @commands, @registrar, @slots, @clock)
    end

    # What each beat sets off: it may take long, and must not hold up the next beat.
    def upkeep
      while (latest = @beats.pop)
        # Only the latest counts.
        latest = @beats.pop until @beats.empty?
        break if latest.nil?

        begin
          look_after(*latest)
        rescue StandardError => e
          # It is tried again with a later beat.
          problem("upkeep", e) unless e.is_a?(NotConnected) || e.is_a?(ConnectionLost)
        end
      end
    end

    def look_after(beat, held, sent_at)
      @reconcile.look(held, beat.now_us, sent_at, @common.fetch.arriving_since(@served)) if held
      @adopt.adopt_from(beat.ended)
      @common.sharding.bring_up(name, @commands)
      @on_gone.call(self) if @common.sharding.gone?(name) && @retreat.possible?(beat, held)
    end

    def end_of_life
      finish = Clock.now + PATIENCE_S
      [@settle, @settle_jobs, @forward].each { |role| role.drained([0, finish - Clock.now].max) }
      [@settle, @settle_jobs, @forward, @due, @tick, @beat, @hearing].each(&:stop)
      @beats << nil
      @upkeep&.join
      @known ? @farewell.leave : 0
    end
  end
end
