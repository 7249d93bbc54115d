# frozen_string_literal: true

require "monitor"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/failures"
require_relative "../wire/payload"
require_relative "context"
require_relative "held"

module Pshub
  # Runs the requests of one place, each to one outcome on a thread of its own; knows neither Redis nor the registry.
  class Executor
    # After its deadline a handler that ignores it is waited for this long; then its slot is given to others.
    ABANDON_AFTER_S = 1.0
    # What a request holds beside its arguments, at the most, but for what a job carries.
    MAX_ENVELOPE_BYTES = 2048
    # How a request ended: with a +result+, which is JSON already, or with an +error+ as the wire has it; +raised+ stays in this
    # process, for its log.
    # +chunks+: of a stream, how many there were.
    Verdict = Struct.new(:result, :error, :raised, :chunks)
    # The run was told to stop, and asks its handler for nothing more.
    class Stopped < StandardError; end
    # +verdict+ is nil when its time was up before it was its turn, so that it was not started. Times are seconds.
    # +aborted+: somebody gave it up while it ran.
    Execution = Struct.new(:verdict, :queue_s, :exec_s, :aborted)

    # One running request.
    class Run
      attr_reader :request, :task, :received_at, :finish, :context
      attr_accessor :deadline, :started_at, :over, :done

      def initialize(executor, request, task, received_at, finish, context, done)
        @executor = executor
        @request = request
        @task = task
        @received_at = received_at
        @finish = @deadline = finish
        @context = context
        @done = done
      end

      # On a thread of a slot, one behind the other.
      def execute = @executor.execute(self)
      def conclude(execution) = @executor.conclude(self, execution)

      # The deadline has come: the handler is told, and given up a little later.
      def expire
        reason = Timeout.new("#{@request.task} did not finish before its deadline.")
        return @executor.abandon(self, reason) if @late

        @late = true
        @context.abort(reason)
        @deadline = Clock.now + ABANDON_AFTER_S
        @executor.deadlines.add(self)
      end
    end

    # +threads+ are the SlotThreads that run them.
    # +hearing+ opens streams, and is told how far runs are.
    def initialize(tasks, threads, max_payload_bytes, nested, hearing)
      @hearing = hearing
      @tasks = tasks
      @threads = threads
      @max_payload_bytes = max_payload_bytes
      @nested = nested
      @lock = Monitor.new
      @idle = @lock.new_cond
      @running = {}
    end

    def deadlines = @threads.deadlines
    def has?(task) = @tasks.key?(task)

    # Runs a request that came at +received_at+ with so much time left. The block is called once with an Execution, on any thread.
    def start(request, received_at, remaining_s, &done)
      finish = received_at + remaining_s
      return yield Execution.new(nil, 0.0, 0.0) if Clock.now >= finish

      run = Run.new(self, request, @tasks.fetch(request.task), received_at, finish, Context.new(request, finish, @nested, @hearing), done)
      @lock.synchronize { @running[request.held_id] = run }
      deadlines.add(run)
      @threads.run(run)
    end

    # Tells a handler to stop; unknown ids are ignored.
    def abort(id, reason)
      @lock.synchronize { @running[id] }&.context&.abort(reason)
    end

    # Ends everything that still runs, as far as anybody waits for it. Returns how many that were.
    def abandon_all(reason)
      running = @lock.synchronize { @running.values }
      running.each do |run|
        # In this order: what a handler returns because it was told to stop must not pass for a result.
        abandon(run, reason)
        run.context.abort(reason)
      end
      running.size
    end

    def abandon(run, reason)
      now = Clock.now
      started_at = run.started_at || now
      conclude(run, Execution.new(failed(reason), started_at - run.received_at, now - started_at))
    end

    # Waits until nothing runs, or +stop+ is set.
    def wait_idle(stop)
      @lock.synchronize { @idle.wait(0.05) until @running.empty? || stop.set? }
    end

    def execute(run)
      started_at = run.started_at = Clock.now
      verdict = verdict_of(run) if started_at < run.finish && !run.over
      Execution.new(verdict, started_at - run.received_at, Clock.now - started_at)
    end

    def conclude(run, execution)
      return unless @lock.synchronize { run.over ? false : run.over = true }

      run.context.over = true
      deadlines.delete(run)
      execution.aborted = run.context.reason.is_a?(Aborted)
      begin
        run.done.call(execution)
      ensure
        forget(run)
      end
    end

    private

    # Not before what became of it is handed on: a worker that leaves waits until nothing runs, and then for what was handed on.
    def forget(run)
      @lock.synchronize do
        id = run.request.held_id
        @running.delete(id) if @running[id].equal?(run)
        @idle.broadcast if @running.empty?
      end
    end

    def verdict_of(run)
      request, task = run.request, run.task
      wrong = if task.keyed && !Held.job?(request.held_id) then Errors.keyed(request.task)
              else task.merged? ? why_not_merged(request, task) : why_not(request, task)
              end
      return failed(wrong) if wrong

      value = task.run(request.args, run.context)
      value.is_a?(Enumerator) && !task.merged? ? drained(task, run, value) : result_of(task, value)
    rescue Stopped
      failed(run.context.reason)
    rescue Payload::Problem => e
      failed(Errors.of_problems("InvalidResult", [e.problem], run.task.full_name))
    rescue InvalidChunk => e
      failed(e.told)
    rescue Exception => e # rubocop:disable Lint/RescueException
      # Also SystemExit: a handler must not end a thread that serves others.
      Verdict.new(nil, Failures.of(e), e)
    end

    # Reads all that a handler yields: into a stream where its caller wants that, else into the list that is its result.
    def drained(task, run, source)
      request, context = run.request, run.context
      stream = @hearing.call.open(request, context) if request.hub_id && request.asked&.window&.positive?
      texts = []
      bytes = 0
      source.each do |value|
        raise Stopped if context.cancelled?

        text = chunk_of(task, value)
        stream ? stream.put(text) : (texts << text if (bytes += text.bytesize + 1) <= @max_payload_bytes)
        raise Stopped if context.cancelled?
      end
      stream&.finish
      return Verdict.new("null", nil, nil, stream.count) if stream
      raise too_long("The result", task) if bytes > @max_payload_bytes

      result_of(task, Payload.decode("[#{texts.join(',')}]"))
    rescue StandardError
      stream&.finish
      raise
    end

    # What a handler yielded is none that may travel; +told+ is what its caller is told.
    class InvalidChunk < StandardError
      attr_reader :told

      def initialize(told)
        super(told.message)
        @told = told
      end
    end

    def chunk_of(task, value)
      text = Payload.encode(value)
      raise too_long("A chunk", task) if Payload.exceeds?(text, @max_payload_bytes)

      problems = task.chunks_checked? ? task.chunk_problems(Payload.decode(text)) : []
      problems.empty? ? text : raise(InvalidChunk, Errors.of_problems("InvalidResult", problems, task.full_name))
    end

    def too_long(what, task) = InvalidChunk.new(InvalidResult.new("#{what} of #{task.full_name} is larger than #{@max_payload_bytes} bytes."))

    # Why the handler is not started; nil when it can be. A caller in another language may not have looked at the schema or the limit.
    def why_not(request, task)
      if request.job&.key?("run")
        return InvalidArgs.new("#{request.task} is no longer declared as merged, but these jobs were.")
      elsif too_large?(request)
        return PayloadTooLarge.new("The arguments of #{request.task} are larger than #{@max_payload_bytes} bytes.")
      end

      problems = task.args_problems(request.args)
      Errors.of_problems("InvalidArgs", problems, request.task) unless problems.empty?
    end

    # The same of a task that merges its jobs. The payloads of a run were looked at before.
    def why_not_merged(request, task)
      part = request.job || {}
      return nil if part.key?("run")
      return Errors.keyed(request.task) unless part.key?("key")

      problems = request.args.flat_map { |_, payloads| payloads.flat_map { |payload| task.args_problems(payload) } }
      Errors.of_problems("InvalidArgs", problems, request.task) unless problems.empty?
    end

    # The failures of a job and the steps that follow it are no arguments.
    def too_large?(request)
      return false unless Payload.exceeds?(request.text, @max_payload_bytes + MAX_ENVELOPE_BYTES)

      carries = request.job || request.then_steps
      !carries || Payload.exceeds?(Payload.compact(request.args), @max_payload_bytes)
    end

    def failed(error) = Verdict.new(nil, Failures.told(error))

    def result_of(task, value)
      # Nobody is told of it: what it happens to be is no failure.
      return Verdict.new("null") if task.merged?

      text = Payload.encode(value)
      if Payload.exceeds?(text, @max_payload_bytes)
        return failed(InvalidResult.new("The result of #{task.full_name} is larger than #{@max_payload_bytes} bytes."))
      end

      # What counts is what travels.
      problems = task.result_checked? ? task.result_problems(Payload.decode(text)) : []
      problems.empty? ? Verdict.new(text) : failed(Errors.of_problems("InvalidResult", problems, task.full_name))
    rescue Payload::Problem => e
      failed(Errors.of_problems("InvalidResult", [e.problem], task.full_name))
    end
  end
end
