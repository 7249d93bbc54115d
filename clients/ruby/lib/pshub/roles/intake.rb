# frozen_string_literal: true

module Pshub
  module Roles
    # From claimed list elements to running handlers, and from outcomes to replies.
    class Intake
      MAX_PUT_BACK = 1000
      LATE = { "code" => "Expired", "message" => "The deadline passed before the task was started.", "retryable" => true }.freeze

      attr_reader :measures, :run_times

      # +crew+ is asked for #worker_id and #unserved, and told #settle and #hand_back_to_others.
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
        @counters = { "ok" => 0, "failed" => 0, "expired" => 0, "malformed" => 0, "unserved" => 0 }
        @measures = Measures.new(clock)
        @run_times = RunTimes.new
        # Requests that reconcile put back, and Redis' time then: the late answer of an earlier claim must not run them.
        @put_back = {}
        # Given up when the worker leaves, and safe to run again.
        @returning = {}
      end

      # Starts what a claim brought, +age_s+ after Redis made it if that is more than its way here.
      def take(claimed, worker_id, age_s)
        now = Clock.now
        @clock.learn(claimed.now_us, now)
        note_claim(claimed)
        claimed.hopeless.each { |text| refuse_hopeless(text, worker_id) }
        # Deadlines go on while an answer is on its way.
        received_at = now - [age_s, (@clock.at_us(now) - claimed.now_us) / 1e6].max
        foreign = claimed.requests.filter_map do |text, held_id|
          request = decode(text, held_id, worker_id)
          request if request && fresh?(request, claimed.now_us) && !begun?(request, worker_id, received_at, claimed.now_us)
        end
        @crew.hand_back_to_others(foreign) unless foreign.empty?
      end

      # Claims of these that were made up to then are void; a later one is a new one.
      def ignore_claims_of(ids, now_us)
        @lock.synchronize do
          @put_back.clear if @put_back.size > MAX_PUT_BACK
          ids.each { |id| @put_back[id] = now_us }
        end
      end

      # Requests that were started and are not settled; those that may run again are not among them.
      def unfinished = @lock.synchronize { @slots.known_ids.reject { |id| @returning.key?(id) } }

      # Reads a request taken over from a lost worker; nil for what is none.
      def decode_adopted(text, held_id)
        Message.decode_request(text, held_id.delete_prefix("lost:").delete_prefix("job:"), @keys)
      rescue Message::Malformed
        nil
      end

      def counters = @lock.synchronize { @counters.dup }

      private

      def note_claim(claimed)
        expired = claimed.expired + claimed.hopeless.size
        @lock.synchronize { @counters["expired"] += expired }
        return if claimed.requests.empty? && expired.zero?

        @events.emit("claim:taken", queue: @queue_name, count: claimed.requests.size, left: claimed.left, expired: expired)
      end

      def fresh?(request, now_us)
        @lock.synchronize { @put_back.fetch(request.held_id, 0) < now_us } && @slots.take(request.held_id)
      end

      # True unless only another worker can run it.
      def begun?(request, worker_id, received_at, now_us)
        return end_foreign?(request, worker_id, now_us) unless @executor.has?(request.task)

        run(request, worker_id, received_at, now_us)
        true
      end

      def decode(text, held_id, worker_id)
        Message.decode_request(text, held_id, @keys)
      rescue Message::Malformed => e
        @lock.synchronize { @counters["malformed"] += 1 }
        @events.emit("request:malformed", queue: @queue_name, reason: e.message)
        # Held all the same, under the id the claim script read or made up: release it like any other.
        id = held_id || Message.leading_id(Payload.utf8(text))
        settle(id, worker_id) if id && @slots.take(id)
        nil
      end

      def run(request, worker_id, received_at, now_us)
        backlog_us = request.at_us ? [0, now_us - request.at_us].max : 0
        limit_s = request.ttl_ms.positive? ? (request.ttl_ms / 1000.0) - (backlog_us / 1e6) : @tasks[request.task].timeout_s
        @executor.start(request, received_at, limit_s) do |execution|
          if execution.verdict then finish(request, worker_id, backlog_us, execution, received_at + limit_s)
          else expire(request, worker_id)
          end
        end
      end

      # Dropped by the claim script, so it is not held; its caller need not wait for the deadline.
      def refuse_hopeless(text, worker_id)
        request = decode_adopted(text, "") or return
        message = "#{request.task} usually runs longer than what was left of the call's time, so it was not started."
        @measures.expired(request, message) if @executor.has?(request.task)
        error = { "code" => "Expired", "message" => message, "retryable" => true }
        settle(nil, worker_id, request.hub_id, Message.error_reply(request.id, Payload.compact(error), worker_id))
      end

      # Its time was up, where the claim script could not see that, or before it was its turn here.
      def expire(request, worker_id)
        @lock.synchronize { @counters["expired"] += 1 }
        @measures.expired(request, LATE["message"]) if @executor.has?(request.task)
        refuse(request, worker_id, LATE)
      end

      # True when a request for a task that this worker does not have ends here, because handing it back would be for ever.
      def end_foreign?(request, worker_id, now_us)
        if request.ttl_ms.positive? && request.at_us
          # Its deadline ends it; where the claim script cannot see that, here.
          over = now_us - request.at_us >= request.ttl_ms * 1000
          expire(request, worker_id) if over
          return over
        end
        code, message = @crew.unserved(request.task)
        return false unless code

        @lock.synchronize { @counters["unserved"] += 1 }
        # After a death nobody knows whether it was run.
        code = "WorkerLost" if request.losses.positive?
        refuse(request, worker_id, { "code" => code, "message" => message })
        @events.emit("request:unserved", queue: @queue_name, task: request.task, code: code, answered: !request.hub_id.nil?)
        true
      end

      def finish(request, worker_id, backlog_us, execution, deadline)
        return if worker_id != @crew.worker_id

        verdict = execution.verdict
        return give_back(request) if verdict.code == "WorkerLost" && @tasks[request.task].idempotent

        phases = Phases.new(backlog_us, micros(execution.queue_s), micros(execution.exec_s))
        count(request, verdict, phases)
        reply = if verdict.code then Message.error_reply(request.id, verdict.text, worker_id, phases)
                else Message.ok_reply(request.id, verdict.text, worker_id, phases)
                end
        # The caller's own deadline came before this one; nobody would read the reply.
        late = request.ttl_ms.positive? && Clock.now > deadline
        settle(request.held_id, worker_id, late ? nil : request.hub_id, reply)
        tell(request, verdict, phases)
      end

      # This worker leaves: what may run twice stays held, and goes back to the list in its last step.
      def give_back(request)
        @lock.synchronize { @returning[request.held_id] = true }
        @slots.free(request.held_id)
      end

      def micros(seconds) = [0, (seconds * 1e6).round].max

      def count(request, verdict, phases)
        @lock.synchronize { @counters[verdict.code ? "failed" : "ok"] += 1 }
        @measures.ran(request, verdict.code, verdict.message, phases)
        @run_times.note(request.task, phases.exec / 1e6) unless verdict.code
      end

      def tell(request, verdict, phases)
        @events.emit("task:settled", task: request.task, queue: @queue_name, id: request.id, ok: verdict.code.nil?,
                                     code: verdict.code, message: verdict.message, raised: verdict.raised, us: phases)
      end

      def refuse(request, worker_id, error)
        settle(request.held_id, worker_id, request.hub_id, Message.error_reply(request.id, Payload.compact(error), worker_id))
      end

      def settle(id, worker_id, hub_id = nil, reply = nil)
        @crew.settle(Settlement.new(id, worker_id, hub_id, reply))
      end
    end
  end
end
