# frozen_string_literal: true

require "monitor"
require_relative "../../jobs/verdict"
require_relative "../../wire/clock"
require_relative "../../wire/errors"
require_relative "../../wire/failures"
require_relative "../../wire/message"
require_relative "../../wire/payload"
require_relative "../../wire/phases"
require_relative "../held"
require_relative "../measures"
require_relative "../merged_run"

module Pshub
  module Roles
    # From claimed list elements to running handlers, and from outcomes to replies.
    class Intake
      MAX_PUT_BACK = 1000
      # After handing a request back a worker rests, so as not to take it again at once: at first so long, and then twice as long
      # each time.
      FIRST_REST_S = 0.05
      LONGEST_REST_S = 0.4
      LATE = { "code" => "Expired", "message" => "The deadline passed before the task was started.", "retryable" => true }.freeze

      attr_reader :measures

      # +crew+ is asked for #worker_id and #unserved and #home_of, and told #settle, #move, #hand_back_to_others and #problem.
      def initialize(crew, keys, queue_name, tasks, executor, slots, clock, events)
        @crew = crew
        @keys = keys
        @queue_name = queue_name
        @tasks = tasks
        @executor = executor
        @slots = slots
        @clock = clock
        @events = events
        @lock = Monitor.new
        @counters = { "ok" => 0, "rejected" => 0, "failed" => 0, "expired" => 0, "malformed" => 0, "unserved" => 0 }
        @measures = Measures.new(clock)
        # Requests that reconcile put back, and Redis' time then: the late answer of an earlier claim must not run them.
        @put_back = {}
        # How long to rest, by whether of jobs alone.
        @rests_s = { false => 0.0, true => 0.0 }
      end

      # Starts what a claim brought, +age_s+ after Redis made it if that is more than its way here. Returns how long to rest before
      # the next claim, if what only others can run is in the list again, and whether of jobs alone.
      def take(claimed, worker_id, age_s)
        now = Clock.now
        @clock.learn(claimed.now_us, now)
        note_claim(claimed)
        # Deadlines go on while an answer is on its way.
        received_at = now - [age_s, (@clock.at_us(now) - claimed.now_us) / 1e6].max
        foreign = claimed.requests.filter_map do |element|
          request = accepted(element, worker_id, claimed.now_us)
          request if request && !begun?(request, worker_id, received_at, claimed.now_us)
        end
        return return_foreign(foreign) unless foreign.empty?

        @rests_s[false] = 0.0
        # A claim of calls alone says nothing of the jobs.
        @rests_s[true] = 0.0 if claimed.requests.any? && claimed.requests.last[2]
        [0.0, false]
      end

      # Claims of these that were made up to then are void; a later one is a new one.
      def ignore_claims_of(ids, now_us)
        @lock.synchronize do
          @put_back.clear if @put_back.size > MAX_PUT_BACK
          ids.each { |id| @put_back[id] = now_us }
        end
      end

      def counters = @lock.synchronize { @counters.dup }

      private

      def return_foreign(foreign)
        @crew.hand_back_to_others(foreign)
        of_jobs = foreign.all? { |request| Held.job?(request.held_id) }
        @rests_s[of_jobs] = (@rests_s[of_jobs] * 2).clamp(FIRST_REST_S, LONGEST_REST_S)
        [@rests_s[of_jobs], of_jobs]
      end

      def note_claim(claimed)
        @lock.synchronize { @counters["expired"] += claimed.expired }
        return if claimed.requests.empty? && claimed.expired.zero?

        @events.emit("claim:taken", queue: @queue_name, count: claimed.requests.size, left: claimed.left, expired: claimed.expired)
      end

      # The request of a list element that is to be run, here or elsewhere; nil when it is none, or not to be run.
      def accepted(element, worker_id, now_us)
        request = decode(*element, worker_id) or return
        return if @lock.synchronize { @put_back.fetch(request.held_id, 0) >= now_us }
        return end_repeated(request, worker_id) if @slots.released?(request.held_id)

        request if @slots.know(request.held_id, at_of(element[0], element[2]))
      end

      # It ended here before, and Redis has forgotten that: a replica was promoted that had not heard of it yet.
      def end_repeated(request, worker_id)
        return unless @slots.know(request.held_id)

        message = "#{request.task} had already run when Redis failed over, and was not run again."
        @crew.problem("failover", message)
        refuse(request, worker_id, { "code" => "WorkerLost", "message" => message, "retryable" => false })
        nil
      end

      # True unless only another worker can run it.
      def begun?(request, worker_id, received_at, now_us)
        return true if moved?(request, worker_id, now_us)
        return end_foreign?(request, worker_id, now_us) unless @executor.has?(request.task)

        run(request, worker_id, received_at, now_us)
        true
      end

      # A job whose key belongs into another shard of the queue is not run here, where others of that key may run at the same time.
      def moved?(request, worker_id, now_us)
        key, merged, run = request.job&.values_at("key", "merged", "run")
        return false if key.nil? || merged || run || !Held.job?(request.held_id) || request.over?(now_us)

        home = @crew.home_of(key)
        @crew.move(request, home, worker_id, now_us) unless home == @queue_name
        home != @queue_name
      end

      # Which time of holding a job this is.
      def at_of(text, is_job) = is_job ? Message.leading_at(Payload.utf8(text)) : ""

      def decode(text, made_up_id, is_job, worker_id)
        request = MergedRun.decode(text, made_up_id, @keys, is_job)
        request.held_id = Held.as_job(request.held_id) if is_job
        request
      rescue Message::Malformed => e
        @lock.synchronize { @counters["malformed"] += 1 }
        @events.emit("request:malformed", queue: @queue_name, reason: e.message)
        # Held all the same, under the id that the claim read or made up: release it like any other.
        id = made_up_id || Message.leading_id(Payload.utf8(text)) or return
        id = Held.as_job(id) if is_job
        settle(id, worker_id) if @slots.know(id, at_of(text, is_job))
        nil
      end

      def run(request, worker_id, received_at, now_us)
        is_job = Held.job?(request.held_id)
        return expire(request, worker_id) if is_job && request.over?(now_us)
        return if refused?(request, worker_id)

        # To wait for a key is no backlog.
        since = [request.at_us || now_us, request.job&.fetch("since", 0) || 0].max
        backlog_us = [0, now_us - since].max
        limit_s = time_limit(request, backlog_us, received_at)
        slot = @slots.take(job: is_job)
        @executor.start(request, received_at, limit_s) do |execution|
          if execution.verdict then finish(request, worker_id, slot, backlog_us, execution, received_at + limit_s)
          else expire(request, worker_id, slot)
          end
        end
      end

      # Gives a run of merged jobs its payloads by key. True when it ends here: one of them is none that its task takes.
      def refused?(request, worker_id)
        task = @tasks[request.task]
        args = MergedRun.args_of(request) if task.merged?
        return false unless args

        request.args = args
        job = JobVerdict.run_of(request) && MergedRun.refused(request.held_id, task, args) or return false
        settle(request.held_id, worker_id, job: job)
        tell_failure(request, { "code" => "InvalidArgs", "message" => "a payload does not match the arguments of the task" }, job)
        true
      end

      # Seconds from when it came. A job runs for as long as its task lets it, however long it is wanted.
      def time_limit(request, backlog_us, received_at)
        task = @tasks[request.task]
        return task.job_timeout_s + Clock.now - received_at if Held.job?(request.held_id)

        request.ttl_ms.positive? ? (request.ttl_ms / 1000.0) - (backlog_us / 1e6) : task.timeout_s
      end

      # Its time was up, where the claim could not see that, or before it was its turn here.
      def expire(request, worker_id, slot = nil)
        @lock.synchronize { @counters["expired"] += 1 }
        # Only for tasks of its own: anything may be written into a request.
        @measures.expired(request, Message.told(request, LATE)) if @executor.has?(request.task)
        @events.emit("request:expired", queue: @queue_name, task: request.task, id: request.id)
        if Held.job?(request.held_id)
          return settle(request.held_id, worker_id, job: JobVerdict.unstarted(request), slot: slot)
        end

        refuse(request, worker_id, LATE, slot)
      end

      # True when a request for a task that this worker does not have ends here, because handing it back would be for ever.
      def end_foreign?(request, worker_id, now_us)
        if request.timed?
          # Its deadline ends it; where the claim cannot see that, here.
          over = request.over?(now_us)
          expire(request, worker_id) if over
          return over
        end
        code, message = @crew.unserved(request.task)
        return false unless code

        @lock.synchronize { @counters["unserved"] += 1 }
        error = { "code" => code, "message" => message }
        return end_foreign_job(request, worker_id, error) if Held.job?(request.held_id)

        error = Message.told(request, error)
        refuse(request, worker_id, error)
        @events.emit("request:unserved", queue: @queue_name, task: request.task, code: error["code"],
                                         answered: !request.hub_id.nil?)
        true
      end

      def end_foreign_job(request, worker_id, error)
        dead = JobVerdict.failed(request, nil, error, nil)
        settle(request.held_id, worker_id, job: dead)
        tell_failure(request, error, dead)
        true
      end

      def finish(request, worker_id, slot, backlog_us, execution, deadline)
        @crew.heard(request)
        return @slots.free(slot) if worker_id != @crew.worker_id

        verdict = execution.verdict
        left = verdict.error && verdict.error["code"] == "WorkerLost"
        # This worker leaves: what may run twice stays held, and goes back to the list in its last step.
        is_job = Held.job?(request.held_id)
        return @slots.free(slot) if left && (is_job || request.idempotent)
        return finish_job(request, worker_id, slot, backlog_us, execution) if is_job

        error = verdict.error && Message.told(request, verdict.error)
        phases = phases_of(backlog_us, execution)
        count(request, error, phases)
        reply = if error then Message.error_reply(request, error, worker_id, phases)
                else Message.ok_reply(request.id, verdict.result, worker_id, phases, verdict.chunks)
                end
        # The caller's own deadline came before this one; nobody would read the reply.
        late = request.ttl_ms.positive? && Clock.now > deadline
        settle(request.held_id, worker_id, hub_id: late ? nil : request.hub_id, reply: reply, slot: slot)
        tell(request, error || {}, verdict.raised, phases)
      end

      def finish_job(request, worker_id, slot, backlog_us, execution)
        verdict = execution.verdict
        job = end_of(request, verdict, execution.aborted)
        if JobVerdict.put_off?(job)
          settle(request.held_id, worker_id, job: job, slot: slot)
          return tell_failure(request, verdict.error, job)
        end

        # Before it is told: who hears of its end may look here.
        phases = phases_of(backlog_us, execution)
        count(request, verdict.error, phases)
        settle(request.held_id, worker_id, job: job, slot: slot)
        tell(request, verdict.error || {}, verdict.raised, phases)
        tell_failure(request, verdict.error, job) if job
      end

      # nil when all that is left to do is to release it.
      def end_of(request, verdict, aborted)
        return JobVerdict.done(request, verdict.result, @queue_name) unless verdict.error
        return JobVerdict.unrun(request.held_id, "cancelled") if aborted && !JobVerdict.run_of(request)

        JobVerdict.failed(request, @tasks[request.task], verdict.error, verdict.raised)
      end

      # What became of a job that failed, or of each key of a run.
      def tell_failure(request, error, job)
        JobVerdict.failures_of(request, job).each.with_index(1) do |failure, number|
          told = { queue: @queue_name, task: request.task, id: job.words ? "#{request.id}-#{number}" : request.id }
          case failure.how
          when "dead" then @events.emit("job:dead", **told, reason: "#{error['code']}: #{error['message']}")
          when "putoff" then @events.emit("job:putoff", **told, delay_ms: failure.delay_ms, reason: error["message"])
          else @events.emit("job:retried", **told, attempt: failure.tries + 1, delay_ms: failure.delay_ms, code: error["code"])
          end
        end
      end

      def phases_of(backlog_us, execution) = Phases.new(backlog_us, micros(execution.queue_s), micros(execution.exec_s))
      def micros(seconds) = [0, (seconds * 1e6).round].max

      def count(request, error, phases)
        @lock.synchronize { @counters[Errors.outcome_of(*error&.values_at("code", "status"))] += 1 }
        @measures.ran(request, error, phases)
      end

      def tell(request, error, raised, phases)
        @events.emit("task:settled", task: request.task, queue: @queue_name, id: request.id, ok: error.empty?,
                                     outcome: Errors.outcome_of(*error.values_at("code", "status")), code: error["code"],
                                     message: error["message"], problems: Failures.problems_of(error),
                                     raised: raised, us: phases, key_us: key_wait(request), is_job: Held.job?(request.held_id))
      end

      # From when a job was due until its key was free; nil of one without a key.
      def key_wait(request)
        since = request.job&.dig("since")
        [0, since - request.at_us].max if since && request.at_us
      end

      def refuse(request, worker_id, error, slot = nil)
        reply = Message.error_reply(request, error, worker_id)
        settle(request.held_id, worker_id, hub_id: request.hub_id, reply: reply, slot: slot)
      end

      def settle(id, worker_id, **more) = @crew.settle(Settlement.new(id: id, worker_id: worker_id, **more))
    end
  end
end
