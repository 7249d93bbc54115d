# frozen_string_literal: true

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
    # Those that the end of the process closes.
    ALL = ObjectSpace::WeakMap.new
    private_constant :INHERITED, :ALL
    at_exit { ALL.keys.each(&:close) }

    # Why a call cannot be made at all; nil when it can.
    def self.wrong_arguments(called, timeout, queue = nil)
      return NoSuchTask.new("The task must be a name like my_task:1.0, or what task made.") unless called.is_a?(String)
      unless queue.nil? || Keys.queue_name?(queue)
        return InvalidArgs.new("queue must be the name of a queue, not #{queue.inspect[0, 80]}.", task: called)
      end
      return nil if timeout.nil?

      unless timeout.is_a?(Numeric) && timeout.real? && !timeout.to_f.nan?
        return InvalidArgs.new("timeout must be a number of seconds, not #{timeout.inspect}.", task: called)
      end
      # A nested call whose time is up comes here with 0; it certainly was not sent.
      Expired.new("No time was left for #{called}.", task: called) if timeout <= 0
    end

    attr_reader :events

    # +redis+:: URL, or a hash of the redis gem's options. Default: PSHUB_REDIS, else redis://127.0.0.1:6379
    # +options+:: +namespace+, +name+ (of the calling service), +max_payload_bytes+, +max_backlog+, +statsd+ (host:port)
    #
    # Raises ConfigError for a setting that cannot work.
    def initialize(redis: nil, **options)
      @settings = Config.new(:hub, { redis: redis, **options })
      @events = Events.new
      Log.watch(@events)
      @statsd = StatsD.watch(@events, @settings.statsd)
      @lock = Mutex.new
      @closed = false
      ALL[self] = true
    end

    # Calls a task and waits for its result.
    #
    # +task+:: +name:1.0+ (exactly that version), +name:1+ (the newest live 1.x), +name+ (the newest live one), or what +task+ made
    # +args+:: any JSON value
    # +timeout+:: seconds; default: the task's own, 5 s unless it says otherwise
    # +queue+:: only workers of this queue count; default: the queue that had the task first, while it has live workers, else another
    # +traceparent+, +tracestate+:: W3C trace context to pass on
    #
    # Raises a HubError by its deadline at the latest; the class says what happened, +ran+ whether calling again is safe.
    def call(task, args = {}, **options) = submit(task, args, **options).result

    # The same without waiting: returns a PendingCall; ask it for its +result+, or +cancel+ it.
    def submit(task, args = {}, timeout: nil, queue: nil, traceparent: nil, tracestate: nil)
      called = task.respond_to?(:full_name) ? task.full_name : task
      wrong = Hub.wrong_arguments(called, timeout, queue)
      wrong ||= HubClosed.new("This hub was closed; make a new one.", task: called) if @closed
      return PendingCall.failed(wrong) if wrong

      core.submit(called, args, timeout, [traceparent, tracestate], queue)
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
        task, args, own, place = *entry
        [name, submit(task, args.nil? && Array(entry).size < 2 ? {} : args, timeout: own || timeout, queue: place || queue)]
      end
      pending.transform_values(&:outcome)
    end

    # Pauses a queue: within a second its workers, in every language, take nothing more from it. They finish what they hold and
    # keep their leases; calls and jobs wait in Redis, calls until their deadlines. A queue that nobody serves can be paused too:
    # workers that come later find it so. It stays paused until #resume. Repeating it is harmless.
    #
    # Returns since when it is paused, Redis milliseconds: the time of an earlier pause that still goes on. Raises ConfigError for
    # what is not the name of a queue, NotEnqueued when Redis is away or this user may not write it, HubClosed.
    def pause(queue) = open_core(queue).pause(queue)

    # Ends the pause of a queue: within a second its workers go on. Returns whether it was paused. Raises as #pause.
    def resume(queue) = open_core(queue).resume(queue)

    # Ends the hub: calls in flight end as HubClosed or Aborted, its keys are deleted, its connections closed.
    def close
      core = @lock.synchronize do
        @closed = true
        core, @core = @core, nil
        core
      end
      core.close if core && core.pid == Process.pid
      @statsd&.flush
    end

    # Changes in a forked child.
    def id = core.id

    private

    def open_core(queue)
      Pausing.check_queue_name(queue)
      raise HubClosed, "This hub was closed; make a new one." if @closed

      core
    end

    def core
      core = @core
      return core if core && core.pid == Process.pid

      @lock.synchronize do
        INHERITED << @core if @core && @core.pid != Process.pid
        @core = HubCore.new(@settings, @events).start if @core.nil? || @core.pid != Process.pid
        @core
      end
    end
  end
end
