# frozen_string_literal: true

require "monitor"
require_relative "../catalogue/unanswered_report"
require_relative "../queue/pause"
require_relative "../queue/queue"
require_relative "../redis/failures"
require_relative "../redis/connections"
require_relative "../redis/refusals"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/ids"
require_relative "../wire/keys"
require_relative "../wire/message"
require_relative "../wire/phases"
require_relative "../wire/redis_clock"
require_relative "../wire/stop"
require_relative "call"
require_relative "inbox"
require_relative "job_links"
require_relative "open_streams"
require_relative "outbox"
require_relative "outbox_news"
require_relative "pending"
require_relative "placement"
require_relative "resolver"
require_relative "retries"
require_relative "round_trip"
require_relative "routes"
require_relative "stream_host"

module Pshub
  # The calls in flight of one hub in one process: from a name and arguments to a settled call. Made anew after a fork.
  class Dispatch
    include OutboxNews
    include StreamHost

    SWEEP_S = 0.5

    # +jobs+: what it has for jobs.
    attr_reader :id, :pid, :jobs

    def initialize(settings, events, name: settings.name)
      @id = Ids.make
      @pid = Process.pid
      @settings = settings
      @events = events
      @name = name
      @keys = Keys.new(settings.namespace)
      @closing = Stop.new
      @lock = Monitor.new
      @pending = {}
      @outboxes = {}
      @ways = {}
      @swept_at = Clock.now
      @budget = RetryBudget.new
      @clock = RedisClock.new
      @commands, @blocking = Connections.pair("hub", settings.redis, events)
      @unanswered = UnansweredReport.new(@id, name, @keys, @commands, @closing)
      @routes = Routes.new(@commands, Resolver.new(@commands.without_waiting, @keys, events), @closing)
      @jobs = JobLinks.new(@id, @keys, @commands, @routes, events, @closing)
      @streams = OpenStreams.new(@id, @keys, @commands, @closing) { |error| stream_problem(error) }
      @inbox = Inbox.new(
        @blocking.at(@keys.reply(@id)), @keys.reply(@id), @keys.read(@id),
        expected: -> { expected }, on_reply: method(:deliver),
        on_problem: ->(reason) { events.emit("problem", where: "inbox", reason: Refusals.explained(reason)) }
      )
    end

    def start
      @routes.start
      @inbox.start
      self
    end

    # Starts a call; it settles by itself, with a HubError where it fails.
    def submit(called, args, timeout_s, trace, queue = nil)
      sweep
      call = PendingCall.new(self, called, args, timeout_s, trace, queue)
      yield call if block_given?
      route = @routes.known(called, queue)
      route ? send_call(call, route) : look_up(call)
      call
    end

    def pause(queue) = @jobs.ask("Queue #{queue} could not be paused", change: true) { |redis| Pause.pause(redis, @keys, queue) }
    def resume(queue) = @jobs.ask("Queue #{queue} could not be resumed", change: true) { |redis| Pause.resume(redis, @keys, queue) }

    # Hears a reply that is no call's, until its Ear, which is returned, is deleted.
    def listen(ticket)
      @jobs.ears.add(ticket).tap do |ear|
        @inbox.wake
        ear.close if @closing.set?
      end
    end

    # When the call must be looked at, as far as it is known.
    def next_look(call) = @lock.synchronize { call.attempt ? call.attempt.deadline : call.patience_end }

    # The time of next_look has come.
    def expire(call)
      @lock.synchronize do
        attempt = call.attempt
        now = Clock.now
        return if call.done?
        return expire_lookup(call) unless attempt
        return if now < attempt.deadline

        if now < attempt.finish && !attempt.sent? && outbox(attempt.queue).sending?
          # Its queue is served; it need only wait for its turn.
          attempt.waits_since = now
        else
          finish(attempt, nil, attempt.lateness(way(attempt.queue).down_reason))
        end
      end
    end

    # The caller gave up.
    def cancel(call)
      @lock.synchronize do
        attempt = call.attempt
        early = "The caller stopped waiting before #{call.called} was sent."
        return call.settle(nil, Aborted.new(early, task: call.called, ran: "no")) unless attempt
        return if attempt.settled

        attempt.abandoned = true
        finish(attempt, nil, attempt.abandoned_error)
      end
    end

    # Settles what is in flight, takes back its requests, deletes the hub's keys, closes its connections.
    def close
      return if @closing.set?

      @closing.set
      @lock.synchronize { @pending.values.each { |attempt| finish(attempt, nil, attempt.close) } }
      @blocking.close
      # Without a link there is nothing to be deleted with, and the opening of one may take long.
      @commands.close unless @commands.ready?
      @inbox.stop
      [@routes, @jobs, @streams].each(&:stop)
      @outboxes.each_value(&:stop)
      delete_keys
      @unanswered.close
      @commands.close
    end

    # Tells of a call that ended before there was a request.
    def rejected(task, queue, error, started_at = Clock.now)
      @unanswered.note(task, queue, error)
      tell_settled(task, nil, error, started_at, nil)
    end

    private

    def expected
      sweep
      # Of a stream comes more than one.
      @pending.size + @jobs.ears.size + @streams.size
    end

    # Calls whose callers do not come for the result end here.
    def sweep
      return if Clock.now - @swept_at <= SWEEP_S

      @lock.synchronize do
        now = @swept_at = Clock.now
        @pending.values.each { |attempt| expire(attempt.call) if attempt.deadline < now - SWEEP_S }
      end
    end

    def expire_lookup(call)
      reason = @commands.down_reason
      return if reason.nil? && call.wait_on?

      refuse_call(call, Routes.unasked(call.called, reason || "no answer in time"))
    end

    def look_up(call)
      @routes.find(call.called, call.queue, call.patience_end) do |found|
        found.is_a?(Route) ? send_call(call, found) : refuse_call(call, found)
      end
    end

    # On the caller's thread or the resolver's: encoding and checking is work.
    def send_call(call, route)
      call.routed(route, @settings.max_payload_bytes)
      @budget.on_call
      @lock.synchronize do
        return if call.done?
        return call.settle(nil, HubClosed.new(task: route.task)) if @closing.set?

        try_call(call)
      end
    rescue HubError => e
      refuse_call(call, e, route)
    rescue StandardError => e
      refuse_call(call, InvalidArgs.new("#{call.called} could not be called: #{Errors.message_of(e)}.", task: call.called), route)
    end

    # It ends before there was a request.
    def refuse_call(call, error, route = nil)
      rejected(route&.task || call.called, route&.queue, error, call.started_at) unless call.done?
      call.settle(nil, error)
    end

    # One more try, +more+ of which is what Attempt has of those before it.
    def try_call(call, *more)
      route = call.route
      queue = Placement.lighter(route.live) { |name| outbox(name) } || route.queue
      outbox = outbox(queue)
      outbox.max_length = [@settings.max_backlog, route.max_backlog].min
      outbox.forecast.slots = route.live.fetch(queue, route.slots)
      Attempt.new(call, queue, tail(call), *more).tap { |attempt| expect(attempt) }
    end

    def tail(call) = Message.tail(@keys.reply(@id), @name, *call.trace)

    def expect(attempt)
      attempt.call.attempt = attempt
      @pending[attempt.id] = attempt
      @inbox.wake
      outbox(attempt.queue).add(attempt)
    end

    def outbox(name)
      @outboxes[name] ||= Outbox.new(self, way(name), TaskQueue.new(name, @keys), @clock, @events, @closing).tap(&:start)
    end

    def way(queue) = @ways[queue] ||= RoundTrip.new(@commands, @keys.queue(queue).calls, @blocking, @keys.reply(@id))

    def deliver(reply, again)
      attempt = @lock.synchronize { @pending[reply["id"]] }
      return attempt&.call&.listener&.part(reply) unless reply.key?("ok")

      attempt&.answered = true
      if attempt.nil?
        @events.emit("reply:late", id: reply["id"]) unless @jobs.ears.hear(reply) || again
      elsif reply["ok"]
        attempt.call.chunks = reply["chunks"]
        finish(attempt, reply["result"], nil, Phases.read(reply["us"]))
      else
        error = Errors.from_wire(reply["error"], task: attempt.task, id: attempt.id)
        finish(attempt, nil, error, Phases.read(reply["us"]))
      end
    end

    def finish(attempt, value, error, phases = nil)
      @lock.synchronize do
        return if attempt.settled

        attempt.settled = true
        @pending.delete(attempt.id)
        box = outbox(attempt.queue)
        box.drop(attempt)
        box.cancel(attempt) if attempt.abandoned
        box.learn(attempt, phases, error)
        return if error && try_again(attempt, error)
      end
      error = attempt.earlier if error && error.ran == "no" && attempt.earlier
      settle(attempt, value, error, phases)
    end

    def settle(attempt, value, error, phases)
      call = attempt.call
      # A worker that adopts a call counts no run of it.
      uncounted = error && (!attempt.answered || (error.code == "WorkerLost" && phases.nil?))
      @unanswered.note(attempt.task, attempt.queue, error) if uncounted
      call.settle(value, error)
      tell_settled(attempt.task, attempt.id, error, call.started_at, phases)
    end

    def tell_settled(task, id, error, started_at, phases)
      return unless @events.any?("call:settled")

      @events.emit("call:settled", task: task, id: id, ok: error.nil?, outcome: Errors.outcome_of(error&.code, error&.http_status),
                                   code: error&.code, ms: (Clock.now - started_at) * 1000, us: phases)
    end

    # True when a further try was started; that one settles the call then.
    def try_again(attempt, error)
      wait_s = @budget.wait_for(attempt, error) unless @closing.set?
      return false unless wait_s

      again = try_call(attempt.call, attempt, error, wait_s)
      @events.emit("call:retried", task: attempt.task, id: attempt.id, next_id: again.id, code: error.code)
      true
    end

    # What is left when Redis is away expires by itself.
    def delete_keys
      pushed = @outboxes.select { |_, outbox| outbox.used? }.keys.map { |name| @keys.queue(name).pushed(@id) }
      pushed += @jobs.used_keys
      return if pushed.empty? && !@jobs.ears.used?

      @commands.without_waiting.apart.run(*[@keys.reply(@id), @keys.read(@id), *pushed].map { |key| ["UNLINK", key] })
    rescue NotConnected, ConnectionLost
      nil
    end
  end
end
