# frozen_string_literal: true

module Pshub
  # Runs one request to one outcome on a thread of its own; knows neither Redis nor the registry.
  class Executor
    # After its deadline a handler that ignores it is waited for this long; then its slot is given to others.
    ABANDON_AFTER_S = 1.0
    # What a request holds beside its arguments, at the most.
    MAX_ENVELOPE_BYTES = 1024
    MAX_MESSAGE_LENGTH = 2000
    MAX_DATA_LENGTH = 65_536
    # A handler that computes gives the threads that talk to Redis a turn after some 25 ms instead of 100.
    PRIORITY = -2

    # How a request ended: with a +result+, which is JSON already, or with an +error+ as the wire has it; +raised+ stays in this
    # process, for its log.
    Verdict = Struct.new(:result, :error, :raised)
    # +verdict+ is nil when its time was up before it was its turn, so that it was not started. Times are seconds.
    Execution = Struct.new(:verdict, :queue_s, :exec_s)

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

    attr_reader :deadlines

    def initialize(tasks, slots, max_payload_bytes, nested)
      @tasks = tasks
      @slots = slots
      @max_payload_bytes = max_payload_bytes
      @nested = nested
      @deadlines = Deadlines.new
      @lock = Monitor.new
      @idle = @lock.new_cond
      @running = {}
      @work = Thread::Queue.new
      @threads = 0
      # Threads that run something, also what was given up.
      @occupied = 0
    end

    def has?(task) = @tasks.key?(task)

    # Runs a request that came at +received_at+ with so much time left. The block is called once with an Execution, on any thread.
    def start(request, received_at, remaining_s, &done)
      finish = received_at + remaining_s
      return yield Execution.new(nil, 0.0, 0.0) if Clock.now >= finish

      run = Run.new(self, request, @tasks.fetch(request.task), received_at, finish, Context.new(request, finish, @nested), done)
      @lock.synchronize do
        @running[request.held_id] = run
        @occupied += 1
        add_thread if @occupied > @threads
      end
      @deadlines.add(run)
      @work << run
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
      conclude(run, Execution.new(told(reason), started_at - run.received_at, now - started_at))
    end

    # Waits until nothing runs, or +stop+ is set.
    def wait_idle(stop)
      @lock.synchronize { @idle.wait(0.05) until @running.empty? || stop.set? }
    end

    # Threads end when they have nothing to do; those whose handlers never return end with the process.
    def stop
      @deadlines.stop
      @lock.synchronize { @threads.times { @work << nil } }
    end

    private

    def add_thread
      @threads += 1
      Thread.new do
        Thread.current.name = "pshub-slot"
        Thread.current.priority = PRIORITY
        while (run = @work.pop)
          serve(run)
          # The next wait may be long, and arguments large.
          run = nil
        end
      end
    end

    def serve(run)
      started_at = run.started_at = Clock.now
      verdict = verdict_of(run) if started_at < run.finish && !run.over
      execution = Execution.new(verdict, started_at - run.received_at, Clock.now - started_at)
      @lock.synchronize do
        @occupied -= 1
        if @threads > @slots
          # One more than slots, made while a handler was given up that has returned after all.
          @threads -= 1
          @work << nil
        end
      end
      conclude(run, execution)
    end

    def conclude(run, execution)
      @lock.synchronize do
        return if run.over

        run.over = true
        @running.delete(run.request.held_id)
        @idle.broadcast if @running.empty?
      end
      @deadlines.delete(run)
      run.done.call(execution)
    end

    def verdict_of(run)
      request, task = run.request, run.task
      if Payload.exceeds?(request.text, @max_payload_bytes + MAX_ENVELOPE_BYTES)
        return told(PayloadTooLarge.new("The arguments of #{request.task} are larger than #{@max_payload_bytes} bytes."))
      end

      problems = task.args_problems(request.args)
      return told(Errors.of_problems("InvalidArgs", problems, request.task)) unless problems.empty?

      result_of(task, task.run(request.args, run.context))
    rescue Exception => e # rubocop:disable Lint/RescueException
      # Also SystemExit: a handler must not end a thread that serves others.
      failure_of(e)
    end

    def result_of(task, value)
      text = Payload.encode(value)
      if Payload.exceeds?(text, @max_payload_bytes)
        return told(InvalidResult.new("The result of #{task.full_name} is larger than #{@max_payload_bytes} bytes."))
      end

      # What counts is what travels.
      problems = task.result_checked? ? task.result_problems(Payload.decode(text)) : []
      problems.empty? ? Verdict.new(text) : told(Errors.of_problems("InvalidResult", problems, task.full_name))
    rescue Payload::Problem => e
      told(Errors.of_problems("InvalidResult", [e.problem], task.full_name))
    end

    # What the worker itself has to say.
    def told(error)
      Verdict.new(nil, with_data({ "code" => error.code, "message" => error.message, "retryable" => false }, error.data))
    end

    # What the caller is told of a failure: message and the handler's own data, never a stack.
    def failure_of(raised)
      message = Errors.message_of(raised)[0, MAX_MESSAGE_LENGTH]
      retryable = raised.is_a?(TaskError) && raised.retryable == true
      known = { "code" => "TaskFailed", "message" => message, "retryable" => retryable }
      Verdict.new(nil, with_data(known, data_of(raised)), raised)
    end

    # A nested call's error is a failure of this task; which one it was is worth knowing, also without its own data.
    def data_of(raised)
      return raised.data if raised.is_a?(TaskError)
      return nil unless raised.is_a?(HubError)

      told = raised.to_h
      { "nested" => Payload.encode(told).length <= MAX_DATA_LENGTH / 2 ? told : told.except("data") }
    rescue Payload::Problem
      { "nested" => told.except("data") }
    end

    def with_data(known, data)
      # With the level that the reply puts around it.
      text = Payload.encode("data" => data)
      # Read back, so that it is what it was now, whatever becomes of the handler's own.
      data.nil? || text.length > MAX_DATA_LENGTH ? known : known.merge(Payload.decode(text))
    rescue Payload::Problem
      known
    end
  end
end
