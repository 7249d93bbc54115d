# frozen_string_literal: true

require_relative "../figures/events"
require_relative "../outlets/log"
require_relative "../outlets/statsd"
require_relative "../queue/pause"
require_relative "../settings/read"
require_relative "../wire/errors"
require_relative "../wire/keys"
require_relative "../wire/times"
require_relative "arguments"
require_relative "dispatch"
require_relative "enqueuing"
require_relative "flows"
require_relative "gather"
require_relative "job_host"
require_relative "job_links"
require_relative "pending"
require_relative "stream"

module Pshub
  # Calls tasks in worker processes, waits for their results, and enqueues jobs. Create one per process. All its methods are thread-safe;
  # after a fork the child uses connections and an identity of its own. It holds two connections to Redis, opened by the first call,
  # whatever the number of calls in flight.
  #
  #   hub = Pshub::Hub.new(redis: "redis://127.0.0.1:6379")
  #   hub.call("my_task:1.0", { x: 1 }, timeout: 2)
  class Hub
    # Inherited by a forked child and never collected: ending them would speak for the parent.
    INHERITED = []
    # Those that the end of the process closes, from their first call on. Held until then: a WeakMap has handed out objects that were
    # collected (Ruby 3.1), and the threads of a hub that is never closed stay anyway.
    OPEN = {}.compare_by_identity
    private_constant :INHERITED, :OPEN
    at_exit { OPEN.keys.each(&:close) }

    attr_reader :events

    # +redis+:: URL, or a hash of the redis gem's options. Default: PSHUB_REDIS, else redis://127.0.0.1:6379
    # +options+:: +namespace+, +name+ (of the calling service), +max_payload_bytes+, +max_backlog+, +statsd+ (host:port)
    #
    # Raises ConfigError for an invalid setting.
    def initialize(redis: nil, **options)
      @settings = Settings.new(:hub, { redis: redis, **options })
      @events = Events.new
      Log.watch(@events)
      @statsd = StatsD.watch(@events, @settings.statsd, @settings.name)
      @lock = Mutex.new
      @closed = false
      keys = Keys.new(@settings.namespace)
      @job_host = JobHost.new(keys) { job_dispatch }
      @enqueuing = Enqueuing.new(@job_host, @settings, @events, keys) { job_dispatch }
    end

    # Calls a task and waits for its result.
    #
    # +task+:: +name:1.0+ (exactly that version), +name:1+ (the newest live 1.x), +name+ (the newest live version), or the return value
    #   of +task+
    # +args+:: a JSON value
    # +timeout+:: seconds; default: the timeout of the task, 5 s unless it declares another
    # +queue+:: call only workers of this queue; default: the first queue of the task while it has live workers, otherwise another one
    # +traceparent+, +tracestate+:: W3C trace context to pass on
    # +on_progress+:: is called with the Progress of the handler, at most about four times a second, on a thread of the hub
    #
    # Raises a HubError by the deadline at the latest; the class says what happened, +ran+ whether it is safe to repeat the call.
    def call(task, args = {}, **options) = submit(task, args, **options).result

    # The same without waiting: returns a PendingCall; ask it for its +result+, or +cancel+ it.
    def submit(task, args = {}, timeout: nil, queue: nil, traceparent: nil, tracestate: nil, on_progress: nil, **unknown)
      called = Arguments.name_of(task)
      timeout = Times.seconds(timeout)
      wrong = rejection(called, Arguments.wrong(called, timeout, queue, on_progress, unknown))
      return PendingCall.failed(wrong) if wrong

      hub = dispatch
      hub.submit(called, args, timeout, [traceparent, tracestate], queue) { |call| call.listener = hub.progress_listener(on_progress) }
    end

    # Calls a task and yields what its handler yields, as it comes, each chunk once and in order:
    #
    #   hub.stream("chat:1.0", { text: "Hi" }) { |chunk| print chunk }
    #
    # It ends by +break+, too: then the handler is told to stop. A block that is slow makes it wait. Returns what the handler returned; what a
    # failed call raises comes behind the chunks before it. Without a block it is an Enumerator.
    #
    # +timeout+:: seconds for all of it; default: the task's own
    # +idle+:: so many seconds it waits for the next chunk at the most, or for a word of progress; default: until +timeout+
    # +on_progress+:: is called with a Progress, how far the handler is
    # +queue+, +traceparent+, +tracestate+:: as of #call
    def stream(task, args = {}, timeout: nil, idle: nil, queue: nil, traceparent: nil, tracestate: nil, on_progress: nil, **unknown, &block)
      unless block
        given = { timeout: timeout, idle: idle, queue: queue, traceparent: traceparent, tracestate: tracestate, on_progress: on_progress, **unknown }
        return Enumerator.new { |chunks| stream(task, args, **given) { |chunk| chunks << chunk } }
      end

      called = Arguments.name_of(task)
      timeout, idle = Times.seconds(timeout), Times.seconds(idle)
      wrong = rejection(called, Arguments.wrong(called, timeout, queue, on_progress, unknown) || Stream.wrong(called, idle))
      raise wrong if wrong

      dispatch.stream(called, args, timeout, [traceparent, tracestate], queue, idle, on_progress).each(&block)
    end

    # Makes many calls at once and waits until each has ended; one that fails spoils none. Returns an Outcome per name.
    #
    #   hub.gather(sum: ["add:1.0", { x: 1 }], slow: ["report:1", {}, 30], timeout: 2)
    #
    # +calls+:: by names of your own, as keywords or in a Hash: <tt>[task, args]</tt>, <tt>[task, args, timeout]</tt>,
    #           <tt>[task, args, timeout, queue]</tt> or a task. A call named +timeout+ or +queue+ needs the Hash.
    # +timeout+, +queue+:: for those that name none of their own
    #
    # Raises InvalidArgs for what is not a call.
    def gather(*calls, timeout: nil, queue: nil, **named)
      entries = Gather.entries(calls, timeout, queue, named)
      entries.transform_values { |task, args, options| submit(task, args, **options) }.transform_values(&:outcome)
    end

    # Enqueues a job: a worker runs the task in the background when it is due, and retries it when it fails. No worker has to be live.
    #
    # +task+, +args+:: as for #call
    # +queue+:: queue of the job; default: the queue of its task; required if no worker has declared the task
    # +forward+:: forwarder that delivers the job, instead of a worker. Its task and arguments need not be known here
    # +delay_ms+:: run it after this many milliseconds; all times may also be durations of Active Support
    # +at+:: run it at this time: a Time, a DateTime, or milliseconds since 1970, on the clock of Redis
    # +retries+:: how often it is retried when it fails; default: as declared by its task, else 25. 0: never
    # +backoff+:: wait before a retry: +exponential+, +polynomial+, milliseconds or an array of them; default: as declared by its task,
    #   else +exponential+
    # +key+:: required for a +keyed+ task: jobs with the same key run one at a time, in the order in which they were enqueued, across
    #   all workers; with <tt>keyed: "merged"</tt> they are merged. A string of 1 to 200 bytes
    # +score+:: for merged jobs: payloads with lower scores come first; default: the time of Redis in microseconds
    # +priority+:: +high+ runs before all other jobs of the queue, +low+ after them; default +normal+
    # +expires_ms+:: do not run it if it has waited this many milliseconds since it was enqueued or due
    # +tracked+:: true: Job#status, #result and #cancel work, also in other processes, until an hour after its end
    # +keep_result_ms+:: like +tracked+, and how many milliseconds to keep the record with the result
    # +unique+:: allow at most one such job at a time; implies +tracked+. true: for the same arguments. A string: for this id. A hash:
    #   +id+; +until+, +ended+ (default) or +started+; +for_ms+, at most this long (default: until a day after it is due)
    # +durable+:: +replica+: the job is acknowledged only when a replica of its Redis has it, so that a failover does not lose it. If no
    #   replica confirms it within a second, OutcomeUnknown is raised: the job is enqueued, but lost if the master fails
    # +timeout_ms+:: how long Redis may take to confirm it; default 5000
    #
    # Returns a Job, once it is in Redis. If it is not tracked, its #status, #result and #cancel raise NoSuchJob.
    # Raises InvalidArgs, PayloadTooLarge, NoSuchTask (pass the queue if no worker has declared the
    # task yet), NotEnqueued when Redis was unreachable for +timeout_ms+, OutcomeUnknown, HubClosed.
    def enqueue(task, args = {}, **options) = @enqueuing.enqueue(task, args, options)

    # Enqueues up to 100,000 jobs. All entries are checked before the first job is sent.
    #
    # +entries+:: <tt>[task]</tt>, <tt>[task, args]</tt> or <tt>[task, args, options]</tt>
    # +options+:: for all jobs, as for #enqueue; the options of an entry take precedence
    #
    # Returns an EnqueuedMany. Raises as #enqueue; <tt>data["index"]</tt> is the invalid entry, <tt>data["enqueued"]</tt> the number of
    # jobs confirmed before Redis became unreachable.
    def enqueue_many(entries, **options) = @enqueuing.enqueue_many(entries, options)

    # Enqueues a chain: each job starts when the one before it has succeeded. All of them are tracked.
    #
    # +entries+:: as for #enqueue_many; set +pass+ in the options of an entry to put the result of the previous step into that field of
    #   its arguments
    #
    # Returns a Chain. Raises as #enqueue_many.
    def chain(entries, **options) = Flows.chain(@enqueuing, @job_host, entries, options)

    # Enqueues up to 100,000 jobs as a batch: when all of them have ended, a follow-up job is enqueued once.
    #
    # +then+:: the follow-up job, an entry as for #enqueue_many
    # +failed+:: the follow-up job if a job is dead, expired or cancelled
    #
    # Returns a Batch. Raises as #enqueue_many.
    def batch(entries, **options)
      Flows.batch(@enqueuing, @job_host, entries, options.except(:then, :failed), *options.values_at(:then, :failed))
    end

    # Creates a schedule: a job is enqueued at the times of a cron entry, once each, however many workers run. The workers of its queue do
    # this. A schedule of the same name in that queue is replaced; a paused one stays paused.
    #
    #   hub.schedule("nightly", { cron: "0 3 * * *", timezone: "Europe/Berlin" }, "report:1.0", { month: "2026-11" }, retries: 3)
    #
    # +name+:: 1 to 64 letters, digits, dots, dashes and underscores
    # +times+:: +cron+: five fields (minute, hour, day of month, month, day of week), or six with seconds first; +timezone+: an IANA
    #   name, default UTC; +missed+: +once+ (default) or +skip+, what happens to times without a live worker
    # +options+:: as for #enqueue, for each of its jobs
    #
    # Returns a Schedule. Raises as #enqueue, InvalidArgs for invalid times, ConfigError when the gem fugit is not installed.
    def schedule(name, times, task, args = {}, **options) = @enqueuing.schedule(name, times, task, args, options)

    # The Schedules of a queue: list, pause, run or remove them. Raises InvalidArgs for an invalid queue name.
    def schedules(queue) = @enqueuing.schedules(queue)

    # The DeadJobs of a queue: list, retry or delete them. Raises as #schedules.
    def dead(queue) = @enqueuing.dead(queue)

    # A JobKey, a key of the jobs of a task: show its state, run it now, skip its first job or delete its waiting jobs. +queue+ is the
    # queue of the key; default: the queue of the task. Raises NoSuchTask, InvalidArgs for an invalid key, NotEnqueued, HubClosed.
    def key(task, key, queue: nil) = @enqueuing.key(task, key, queue)

    # A tracked Job, wherever it was enqueued. +queue+ is its queue; default: search all queues. Raises NoSuchJob, NotEnqueued, HubClosed.
    def job(id, queue: nil) = @enqueuing.job(id, queue)

    # Pauses a queue: within a second its workers, in any language, stop claiming requests from it. They finish their running requests and
    # keep their leases. Calls wait in Redis until their deadlines, jobs until #resume. You can pause a queue without workers. Pausing
    # twice is harmless.
    #
    # Returns since when it is paused, Redis milliseconds. Raises ConfigError for an invalid queue name, NotEnqueued when Redis is
    # unreachable or this user may not write to it, HubClosed.
    def pause(queue) = open_dispatch(queue).pause(queue)

    # Resumes a queue: within a second its workers claim requests again. Returns whether it was paused. Raises as #pause.
    def resume(queue) = open_dispatch(queue).resume(queue)

    # Closes the hub: calls in flight fail with HubClosed or Aborted, its keys are deleted, its connections closed.
    def close
      dispatch = @lock.synchronize do
        @closed = true
        OPEN.delete(self)
        dispatch, @dispatch = @dispatch, nil
        dispatch
      end
      dispatch.close if dispatch && dispatch.pid == Process.pid
      @statsd&.close
    end

    # Changes in a forked child.
    def id = dispatch.id

    private

    # Why a call ends before there is a request, which is told; nil where it does not.
    def rejection(called, wrong)
      return wrong || HubClosed.new(JobLinks::CLOSED, task: called) if @closed

      wrong&.tap { dispatch.rejected(called, nil, wrong) }
    end

    def open_dispatch(queue)
      Pause.check_queue_name(queue)
      raise HubClosed, JobLinks::CLOSED if @closed

      dispatch
    end

    def job_dispatch
      raise HubClosed, JobLinks::CLOSED if @closed

      dispatch
    end

    def dispatch
      dispatch = @dispatch
      return dispatch if dispatch && dispatch.pid == Process.pid

      @lock.synchronize do
        OPEN[self] = true
        INHERITED << @dispatch if @dispatch && @dispatch.pid != Process.pid
        @dispatch = Dispatch.new(@settings, @events).start if @dispatch.nil? || @dispatch.pid != Process.pid
        @dispatch
      end
    end
  end
end
