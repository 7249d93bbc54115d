# frozen_string_literal: true

module Pshub
  # One worker at work: identity and life, and the roles that do what is done in between. The roles know this and not each other.
  class Crew
    # How long the start waits for Redis, and the end for the last confirmations.
    PATIENCE_S = 2.0
    PROBLEMS = [NotConnected, ConnectionLost, ReplyError].freeze

    attr_reader :worker_id, :slots

    def initialize(settings, tasks, events)
      @worker_id = Keys.new_id
      @settings = settings
      @events = events
      @tasks = tasks
      @slots = Slots.new(settings.slots)
      @clock = RedisClock.new
      @keys = Keys.new(settings.namespace)
      @queue = TaskQueue.new(settings.queue, @keys)
      @commands, @waiting = Connection.pair("worker", settings.redis, events)
      @registrar = Registrar.new(@keys, @queue, tasks, settings, events)
      @busy_share = BusyShare.new(settings.slots)
      @lock = Monitor.new
      @identity = Monitor.new
      @stopping = Stop.new
      @grace_over = Stop.new
      @stopped = Stop.new
      @beats = Thread::Queue.new
      @fitness = Fitness.new(@commands, @keys, @queue.name, events, @stopping)
      @state = :new
      make_roles
    end

    # Returns when the worker is registered, or after some two seconds while Redis is away: it goes on trying then. Raises
    # ConfigError when this Redis cannot keep the promises.
    def start
      @state = :running
      unfit = @fitness.look if @commands.wait_ready(@stopping, PATIENCE_S)
      return if @stopping.set?

      if unfit.nil? then @waiter = Thread.new { serve if @fitness.wait_until_fit }
      elsif unfit.empty? then serve
      else refuse(unfit)
      end
      @events.emit("worker:started", worker: @worker_id, queue: @queue.name, slots: @slots.size, tasks: @tasks.keys)
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
    def renew_lease = @beat.beat_now
    def beat_now = @beat.beat_now
    def settle(settlement) = @settle.add(settlement)
    def unserved(task) = @unserved.verdict(task)
    def idempotent?(task) = @registrar.idempotent?(task, @commands)
    def decode_adopted(text, held_id) = @intake.decode_adopted(text, held_id)
    def ignore_claims_of(ids, now_us) = @intake.ignore_claims_of(ids, now_us)
    def redirect(requests, held_by, now_us) = @adopt.redirect(requests, held_by, now_us)

    # +reason+ is an error, or a text.
    def problem(where, reason)
      reason = Errors.message_of(reason) if reason.is_a?(Exception)
      @events.emit("problem", where: where, reason: Errors.explained(reason))
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
        @worker_id = Keys.new_id
        @executor.abandon_all(WorkerLost.new("The lease of the worker ended.")).tap { @slots.reset }
      end
      @events.emit("lease:lost", worker: before, queue: @queue.name, aborted: aborted)
    end

    def publish(now_ms)
      @registrar.publish(@commands, @worker_id, now_ms, stats(now_ms), @intake.measures)
    rescue StandardError
      @intake.measures.repeat
      raise
    end

    def beaten(beat)
      @pause.beaten(beat)
      beat.cancelled.each { |id| @executor.abort(id, Aborted.new("The caller gave up waiting.")) }
      @adopt.note_beat
      @beats << beat if @state == :running
    end

    def lost(worker_id, count, by)
      @events.emit("worker:lost", worker: worker_id, queue: @queue.name, adopted: count, by: by)
    end

    def redelivered(request, losses)
      @events.emit("request:redelivered", queue: @queue.name, task: request.task, id: request.id, losses: losses)
    end

    def dead(request, reason)
      @events.emit("job:dead", queue: @queue.name, task: request.task, id: request.id, reason: reason)
    end

    # Requests that only another worker can run.
    def hand_back_to_others(requests)
      ids = requests.map(&:held_id)
      @events.emit("request:handedback", queue: @queue.name, task: requests.first.task, count: ids.size)
      # Did it fail, reconcile finds them.
      @slots.forget(ids)
      @queue.handback(@commands, @worker_id, "tail", ids.map { |id| [id, ""] })
    rescue *PROBLEMS => e
      problem("handback", e) if e.is_a?(ReplyError)
    end

    private

    def make_roles
      @executor = Executor.new(@tasks, @settings.slots, @settings.max_payload_bytes, method(:nested_call))
      @intake = Roles::Intake.new(self, @keys, @queue.name, @tasks, @executor, @slots, @clock, @events)
      @settle = Roles::Settle.new(self, @queue, @commands, @slots, @clock)
      @fetch = Roles::Fetch.new(self, @queue, @waiting, @commands, @slots, @clock)
      @beat = Roles::BeatLoop.new(self, @queue, @commands, @settings.lease, @clock)
      @pause = Roles::Pause.new(self, @queue.name, @fetch, @events)
      @reconcile = Roles::Reconcile.new(self, @queue, @commands, @slots)
      @adopt = Roles::Adopt.new(self, @queue, @commands, @slots, @clock)
      @unserved = Roles::Unserved.new(@queue.name) { |task| @registrar.whereabouts(task, @commands) }
    end

    # For calls that handlers make; its two connections are only made by the first one.
    def nested_call(called, args, timeout_s, trace, queue)
      core = @lock.synchronize { @nested ||= HubCore.new(@settings, @events, name: @queue.name).start }
      core.submit(called, args, timeout_s, trace, queue)
    end

    def serve
      return if @stopping.set?

      @known = true
      @executor.deadlines.start
      @settle.start
      @beat.beat_now
      @beat.start
      @fetch.start
      @upkeep = Thread.new { upkeep }
      @watch = Thread.new { @fitness.watch }
    end

    def refuse(unfit)
      [@waiting, @commands].each(&:close)
      @stopping.set
      @stopped.set
      raise ConfigError, "This Redis cannot be used: #{unfit.join('; ')}."
    end

    # What each beat sets off: it may take long, and must not hold up the next beat.
    def upkeep
      while (beat = @beats.pop)
        # Only the latest counts.
        beat = @beats.pop until @beats.empty?
        break if beat.nil?

        begin
          @reconcile.look(beat.now_us)
          @adopt.adopt_from(beat.ended, beat.now_us)
        rescue StandardError => e
          # It is tried again with a later beat.
          problem("upkeep", e) unless e.is_a?(NotConnected) || e.is_a?(ConnectionLost)
        end
      end
    end

    def stats(seen_ms)
      {
        "seen" => seen_ms, "busy" => @slots.busy, "draining" => @state != :running, "counters" => @intake.counters,
        "busyShare" => @busy_share.look(@slots.used_s), "rssBytes" => BusyShare.rss_bytes
      }.compact
    end

    # The last steps.

    def leave
      @state = :stopping
      @stopping.set
      # Before all else: a caller that counts on this worker waits for nothing until its deadline.
      tried { announce }
      @fetch.stop
      @waiting.close
      [@fetch, @waiter].compact.each(&:join)
      handed_back = tried { hand_back_unknown }
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
      @settle.drained(PATIENCE_S)
      @settle.stop
      @beat.stop
      @beats << nil
      [@upkeep, @watch].compact.each(&:join)
      handed_back = tried { @queue.handback(@commands, @worker_id, "head", @intake.returning) }
      handed_back += tried { give_up_lease }
      @executor.stop
      @lock.synchronize { @nested }&.close
      @commands.close
      handed_back
    end

    # While Redis is away nothing can be handed back; then the lease ends by itself and others adopt what is held.
    def tried
      return 0 unless @known && @commands.ready?

      yield.to_i
    rescue *PROBLEMS => e
      problem("stop", e)
      0
    end

    def announce
      seen = @clock.at_us(Clock.now) / 1000
      # Without a beat nobody knows of this worker yet; its first one says so itself.
      @registrar.publish_stats(@commands, @worker_id, stats(seen)) if seen.positive?
      0
    end

    # The answer of the last claim may have been cut off; what it took goes back to others.
    def hand_back_unknown
      unknown = @queue.held_ids(@commands, @worker_id).reject do |id|
        @slots.knows?(id) || id.start_with?("lost:") || @slots.released?(id)
      end
      @queue.handback(@commands, @worker_id, "head", unknown.map { |id| [id, ""] })
    end

    # What is still known stays held for the next worker to adopt. What a failover brought back after its release goes before: it
    # must not return to a list.
    def give_up_lease
      ended = @queue.held_ids(@commands, @worker_id).select { |id| @slots.released?(id) }
      @commands.one(*@queue.release_command(@worker_id, ended)) if ended.any?
      handed_back = @queue.leave(@commands, @worker_id, @slots.known_ids)
      @registrar.remove(@commands, @worker_id)
      handed_back
    end
  end
end
