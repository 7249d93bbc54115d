# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/ids"
require_relative "../wire/payload"
require_relative "../wire/streams"
require_relative "../wire/times"
require_relative "../redis/failures"
require_relative "job_record"
require_relative "job_text"

module Pshub
  # An enqueued job. Its methods work only if it is tracked.
  class Job
    # The answer that wakes who waits is pushed by the worker behind the step that ended the job; one that dies in between tells
    # nobody. So a wait looks again by itself after this long.
    LOOK_AGAIN_S = 5.0
    # The same while Redis is away.
    AWAY_S = 0.2
    # So often the number of shards may have changed while a job waited.
    MOST_MOVES = 16

    # +queue+ is its queue; with shards, the shard that holds it.
    attr_reader :id, :queue, :task

    # +host+ asks Redis and hears answers, a JobHost; +to_come+: it is enqueued when others have ended.
    def initialize(host, id, queue, task, twin: false, to_come: false)
      @host = host
      @job_queue = host.queue_of(queue)
      @id = id
      @queue = queue
      @task = task
      @twin = twin
      @to_come = to_come
    end

    # True if it is a duplicate: this is the existing job, and no new one was enqueued.
    def twin? = @twin

    # The state of the job, a JobStatus. Raises NoSuchJob when it was not tracked or the record has expired, NotEnqueued when Redis is
    # unreachable.
    def status = with_progress(record.status)

    # Waits until the job ends, without polling, and returns its result.
    #
    # Raises the class of its last failure when it is dead, Expired, Aborted when it was cancelled, Timeout when it has not ended within
    # +timeout_ms+, NoSuchJob, NotEnqueued, HubClosed.
    def result(timeout_ms: 30_000)
      finish = Clock.now + (Times.ms(timeout_ms) / 1000.0)
      @host.hear(ticket = Ids.make) do |ear|
        loop do
          record = look(ticket, finish)
          reply = ear.reply || (!record&.status&.ended? && ear.wait(patience(record, finish)))
          return outcome_of(reply) if reply
          return ended(record) if record&.status&.ended?
          raise HubClosed.new(task: @task, id: @id) if ear.closed?

          raise_late if Clock.now >= finish
        end
      end
    end

    # Cancels the job: if it is waiting, it will not run; if it is running, its handler is notified. Returns true if it will certainly not
    # run to its end; false if its handler was notified, or it had already ended. Raises NoSuchJob, NotEnqueued.
    def cancel
      state = withdraw
      raise unknown if state.empty?

      %w[waiting scheduled retrying cancelled].include?(state)
    end

    # Runs it now if it is scheduled or retrying. It keeps its count of tries. Returns false if it is neither: it is already due, runs,
    # has ended, or has a key (use JobKey#run_now). Raises NoSuchJob, NotEnqueued.
    def run
      now = status
      return false unless %w[scheduled retrying].include?(now.state) && now.due_ms

      @host.change do |connection|
        lying = @job_queue.lying_at(connection, now.state, @id, now.due_ms)
        !lying.nil? && @job_queue.revive(connection, [[lying, JobText.hastened(lying)]]) == 1
      end
    end

    # Has it cancelled; +to_come+: one that is not there yet, too. Returns its state as it was, empty when none is known.
    def withdraw(to_come: false)
      MOST_MOVES.times do
        state = @host.change { |connection| @job_queue.withdraw(connection, @id, to_come: to_come) }
        return state unless state == "moved"

        follow { |connection| @job_queue.record(connection, @id) }
      end
      raise unknown
    end

    # The Chain of which it is a step; nil if it is not in a chain. Raises NoSuchJob, NotEnqueued.
    def chain
      id, steps = record.chain
      id && Chain.new(@host, id, steps)
    end

    private

    # Of one that runs, how far it is; nothing where it said nothing, or this user may not see it.
    def with_progress(status)
      return status unless status.state == "running"

      said = @host.ask { |connection| told(connection) }
      status.tap { |each| each.progress = Streams.read_progress_text(said) }
    end

    def told(connection)
      @job_queue.progress(connection, @id)
    rescue ReplyError
      nil
    end

    def record = known(follow { |connection| @job_queue.record(connection, @id) })
    def known(fields) = JobRecord.read(fields, @id, @queue) || raise(unknown)

    # Fields of its record; of a job that was moved to another shard, of the one that it has there.
    def follow(&read)
      MOST_MOVES.times do
        fields = @host.ask(&read)
        shard = JobRecord.moved_to(fields, @queue) or return fields
        @queue = shard
        @job_queue = @host.queue_of(shard)
      end
      @host.ask(&read)
    end

    # Its record; nil while it is to come, or Redis is away and there is time left.
    def look(ticket, finish)
      to_come_ms = @to_come ? [0, (finish - Clock.now + LOOK_AGAIN_S) * 1000].max : 0
      fields = follow { |connection| @job_queue.await(connection, @id, ticket, @host.hub_id, to_come_ms) }
      @to_come ? JobRecord.read(fields, @id, @queue) : known(fields)
    rescue NotEnqueued
      raise if Clock.now >= finish
    end

    def patience(record, finish) = [finish - Clock.now, record || @to_come ? LOOK_AGAIN_S : AWAY_S].min

    def ended(record)
      status = record.status
      case status.state
      when "done" then record.result.to_s.empty? ? nil : Payload.decode(record.result)
      when "dead"
        raise error(TaskFailed, "Job #{@id} of #{@task} is dead.") unless status.error

        raise Errors.from_wire(status.error, task: @task, id: @id)
      when "expired" then raise error(Expired, "Job #{@id} of #{@task} expired before it ran.")
      else raise error(Aborted, "Job #{@id} of #{@task} was cancelled.")
      end
    end

    def outcome_of(reply)
      return reply["result"] if reply["ok"]

      raise Errors.from_wire(reply["error"], task: @task, id: @id)
    end

    def raise_late
      raise error(Timeout, "Job #{@id} of #{@task} did not end in time. The job continues.")
    end

    def unknown
      why = "It was not tracked (enqueue it with tracked: true), or the record has expired"
      error(NoSuchJob, "There is no record of job #{@id} in queue #{@queue}. #{why}.")
    end

    def error(kind, message) = kind.new(message, task: @task, id: @id)
  end

  # Jobs one after the other: the next one starts when the one before is done. Each of them is tracked.
  class Chain
    # Id of the first job, and a Job for each step.
    attr_reader :id, :steps

    # Id of the step in this place, counted from 0: the same however often it is made, so that it comes once.
    def self.step_id(chain, place) = place.zero? ? chain : "#{chain}-#{place + 1}"

    # +steps+: queue and task of each.
    def initialize(host, id, steps)
      @id = id
      @steps = steps.each_with_index.map do |(queue, task), place|
        Job.new(host, Chain.step_id(id, place), queue, task, to_come: place.positive?)
      end
    end

    # The state of each step, a JobStatus each. If a step is dead, the chain continues when it is retried. Of a step whose record has
    # expired, or that will never start, only the state is known. Raises NoSuchJob when the records of all steps have expired,
    # NotEnqueued.
    def status
      found = @steps.map { |step| status_of(step) }
      # What was cancelled before it came has a record, too.
      latest = found.rindex { |each| each && (each.state != "cancelled" || each.enqueued_ms) }
      raise NoSuchJob.new("There is no record of chain #{@id}. It was not tracked, or the records have expired.", id: @id) unless latest

      stop = found.index { |each| each && %w[cancelled expired].include?(each.state) } || found.size
      @steps.zip(found).each_with_index.map do |(step, known), at|
        state = if at < latest then "done"
                else at < stop ? "pending" : "cancelled"
                end
        known || JobStatus.new(id: step.id, queue: step.queue, task: step.task, state: state, tries: 0)
      end
    end

    # Waits until the chain ends, and returns the result of the last step. Raises as Job#result, for the first step that fails.
    def result(timeout_ms: 30_000)
      finish = Clock.now + (Times.ms(timeout_ms) / 1000.0)
      known = []
      @steps.each_with_index.map do |step, at|
        next if known[at]&.state == "done" && at < @steps.size - 1

        step.result(timeout_ms: [1, (finish - Clock.now) * 1000].max)
      rescue NoSuchJob
        # The records of the first steps of a long chain go while it goes on.
        raise if at.positive?

        known = status
        nil
      end.last
    end

    # Cancels the steps that have not ended: no further step starts. Raises as #status.
    def cancel
      # From the end, so that none comes behind those that were looked at.
      @steps.zip(status).reverse_each { |step, known| step.withdraw(to_come: known.state == "pending") }
      nil
    end

    private

    def status_of(step)
      step.status
    rescue NoSuchJob
      nil
    end
  end
end
