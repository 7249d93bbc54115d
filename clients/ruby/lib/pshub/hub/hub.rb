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
  # Calls tasks in worker processes and waits for their results. One per process; all its methods may be used from any thread,
  # and after a fork the child's calls go over connections and an identity of its own. It holds two connections to Redis, which
  # are made by the first call, whatever the number of calls in flight.
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
    # Raises ConfigError for a setting that cannot work.
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
    # +task+:: +name:1.0+ (exactly that version), +name:1+ (the newest live 1.x), +name+ (the newest live one), or what +task+ made
    # +args+:: any JSON value
    # +timeout+:: seconds; default: the task's own, 5 s unless it says otherwise
    # +queue+:: only workers of this queue count; default: the queue that had the task first, while it has live workers, else another
    # +traceparent+, +tracestate+:: W3C trace context to pass on
    # +on_progress+:: is called with a Progress, how far the handler is, some four times a second at the most; on a thread of the hub
    #
    # Raises a HubError by its deadline at the latest; the class says what happened, +ran+ whether calling again is safe.
    def call(task, args = {}, **options) = submit(task, args, **options).result

    # The same without waiting: returns a PendingCall; ask it for its +result+, or +cancel+ it.
    def submit(task, args = {}, timeout: nil, queue: nil, traceparent: nil, tracestate: nil, on_progress: nil)
      called = Arguments.name_of(task)
      timeout = Times.seconds(timeout)
      wrong = rejection(called, Arguments.wrong(called, timeout, queue, on_progress))
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
    def stream(task, args = {}, timeout: nil, idle: nil, queue: nil, traceparent: nil, tracestate: nil, on_progress: nil, &block)
      unless block
        given = { timeout: timeout, idle: idle, queue: queue, traceparent: traceparent, tracestate: tracestate, on_progress: on_progress }
        return Enumerator.new { |chunks| stream(task, args, **given) { |chunk| chunks << chunk } }
      end

      called = Arguments.name_of(task)
      timeout, idle = Times.seconds(timeout), Times.seconds(idle)
      wrong = rejection(called, Arguments.wrong(called, timeout, queue, on_progress) || Stream.wrong(called, idle))
      raise wrong if wrong

      dispatch.stream(called, args, timeout, [traceparent, tracestate], queue, idle, on_progress).each(&block)
    end

    # Makes many calls at once and waits until each has ended; one that fails spoils none. Returns an Outcome per name.
    #
    #   hub.gather("sum" => ["add:1.0", { x: 1 }], "slow" => ["report:1", {}, 30])
    #
    # +calls+:: by names of your own: <tt>[task, args]</tt>, <tt>[task, args, timeout]</tt>, <tt>[task, args, timeout, queue]</tt> or
    #           a task
    # +timeout+, +queue+:: for those that name none of their own
    def gather(calls, timeout: nil, queue: nil)
      pending = calls.to_h do |name, entry|
        task, args, options = Gather.read(entry, timeout, queue)
        [name, submit(task, args, **options)]
      end
      pending.transform_values(&:outcome)
    end

    # Enqueues a job: the task is run in the background, once it is due, and again when it fails. No worker need live.
    #
    # +task+, +args+:: as of #call
    # +queue+:: that it goes to; default: the one that its task is known in; has to be named where no worker ever declared the task
    # +forward+:: the forwarder that takes it out of the hub, in the place of a worker. Nothing here need know its task or what its
    #             arguments are
    # +delay_ms+:: not before so many milliseconds from now; this, and each other time, may be a duration of Active Support
    # +at+:: not before this moment: a Time, a DateTime, or milliseconds since 1970. It is compared with Redis' clock
    # +retries+:: how often it is tried again when it fails; default: as its task says, else 25. 0: never
    # +backoff+:: how long it waits before that: +exponential+, +polynomial+, milliseconds or an array of them; default: as its task
    #             says, else +exponential+
    # +key+:: for a task that is +keyed+, and needed there: its jobs with the same key run one after the other, in the order in which they
    #         were enqueued, across all workers; or they are merged, where it is <tt>keyed: "merged"</tt>. A text of 1 to 200 bytes
    # +score+:: of a merged job: payloads with lower scores come first; default: Redis' time, in microseconds
    # +priority+:: +high+ goes before all other jobs of the queue, +low+ lets all others pass; default +normal+
    # +expires_ms+:: nobody wants it any more so many milliseconds after it was enqueued, or was due: then it is not run
    # +tracked+:: true: Job#status, #result and #cancel know it, also in other processes; its record is kept for an hour after its end
    # +keep_result_ms+:: the same, and how many milliseconds the record, with the result, is kept
    # +unique+:: at most one such job is there at a time; it is tracked, too. true: with the same arguments. A text: of its task with this
    #            id. A hash: +id+; +until+, +ended+ (default) or +started+; +for_ms+, but no longer than this (default: a day after it is due)
    # +durable+:: +replica+: it is acknowledged when a replica of its Redis has it, too, so that a failover does not lose it. OutcomeUnknown when
    #             none confirms it within a second: it is enqueued then, and may be lost with its master
    # +timeout_ms+:: how long Redis may take to confirm it; default 5000
    #
    # Returns a Job, once it is in Redis. If it is not tracked, its #status, #result and #cancel raise NoSuchJob. Raises InvalidArgs,
    # PayloadTooLarge, NoSuchTask (name its queue, if nobody has declared it yet), NotEnqueued when Redis was away for +timeout_ms+,
    # OutcomeUnknown, HubClosed.
    def enqueue(task, args = {}, **options) = @enqueuing.enqueue(task, args, options)

    # Enqueues up to 100,000 jobs. All of them are checked before the first is sent.
    #
    # +entries+:: <tt>[task]</tt>, <tt>[task, args]</tt> or <tt>[task, args, options]</tt>
    # +options+:: for all of them, as of #enqueue; an entry's own options win
    #
    # Returns an EnqueuedMany. Raises as #enqueue; <tt>data["index"]</tt> names the entry that is wrong, <tt>data["enqueued"]</tt> says
    # how many were confirmed before Redis was away.
    def enqueue_many(entries, **options) = @enqueuing.enqueue_many(entries, options)

    # Enqueues jobs one after the other: the next one starts when the one before is done. Each of them is tracked.
    #
    # +entries+:: as of #enqueue_many; with +pass+ in an entry's options, that field of its arguments gets the result of the step before it
    #
    # Returns a Chain. Raises as #enqueue_many.
    def chain(entries, **options) = Flows.chain(@enqueuing, @job_host, entries, options)

    # Enqueues jobs that belong together, up to 100,000: when all have ended, what is to follow is enqueued, once.
    #
    # +then+:: what follows, an entry as of #enqueue_many
    # +failed+:: what follows instead where one of them is dead, has expired or was cancelled
    #
    # Returns a Batch. Raises as #enqueue_many.
    def batch(entries, **options)
      Flows.batch(@enqueuing, @job_host, entries, options.except(:then, :failed), *options.values_at(:then, :failed))
    end

    # Has a job enqueued at its times, once each, however many workers there are. Workers of its queue keep that up. A schedule of the
    # same name in that queue is replaced; one that is paused stays so.
    #
    #   hub.schedule("nightly", { cron: "0 3 * * *", timezone: "Europe/Berlin" }, "report:1.0", { month: "2026-11" }, retries: 3)
    #
    # +name+:: 1 to 64 letters, digits, dots, dashes and underscores
    # +times+:: +cron+: five fields (minute, hour, day of month, month, day of week), or six with seconds in front; +timezone+: an IANA
    #           name, default UTC; +missed+: +once+ (default) or +skip+, what becomes of times at which no worker was there
    # +options+:: as of #enqueue, for each of its jobs
    #
    # Returns a Schedule. Raises as #enqueue, InvalidArgs for times that cannot be, ConfigError where the gem fugit is not there.
    def schedule(name, times, task, args = {}, **options) = @enqueuing.schedule(name, times, task, args, options)

    # The Schedules of a queue: to look at, to pause, to run now, to remove. Raises InvalidArgs for what is no queue's name.
    def schedules(queue) = @enqueuing.schedules(queue)

    # The DeadJobs of a queue, those that were given up: to look at, to be tried again, to be deleted. Raises as #schedules.
    def dead(queue) = @enqueuing.dead(queue)

    # A JobKey, a key of a task's jobs: where it is and what waits of it; to have it run now, to skip what it is stuck at, to delete what
    # waits. +queue+ is where it is; default: the one that its task is known in. Raises NoSuchTask, InvalidArgs for what is no key,
    # NotEnqueued, HubClosed.
    def key(task, key, queue: nil) = @enqueuing.key(task, key, queue)

    # A tracked Job, wherever it was enqueued. +queue+ is where it is; default: all queues are asked. Raises NoSuchJob, NotEnqueued,
    # HubClosed.
    def job(id, queue: nil) = @enqueuing.job(id, queue)

    # Pauses a queue: within a second its workers, in every language, take nothing more from it. They finish what they hold and
    # keep their leases; calls and jobs wait in Redis, calls until their deadlines. A queue that nobody serves can be paused too:
    # workers that come later find it so. It stays paused until #resume. Repeating it is harmless.
    #
    # Returns since when it is paused, Redis milliseconds: the time of an earlier pause that still goes on. Raises ConfigError for
    # what is not the name of a queue, NotEnqueued when Redis is away or this user may not write it, HubClosed.
    def pause(queue) = open_dispatch(queue).pause(queue)

    # Ends the pause of a queue: within a second its workers go on. Returns whether it was paused. Raises as #pause.
    def resume(queue) = open_dispatch(queue).resume(queue)

    # Ends the hub: calls in flight end as HubClosed or Aborted, its keys are deleted, its connections closed.
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
