# frozen_string_literal: true

require "digest"
require "set"

module Pshub
  # What a handler is told about its call; its block's second argument.
  class Context
    # Why it was told to stop, once it was: a HubError.
    attr_reader :reason

    # +nested+ makes a call: given a task, arguments, a time, a trace and a queue, it returns a PendingCall or raises.
    def initialize(request, finish, nested)
      @request = request
      @finish = finish
      @nested = nested
      @lock = Mutex.new
      @told = Stop.new
      @calls = Set.new
    end

    # The request's id.
    def id = @request.id
    # name:version
    def task = @request.task
    # The calling service, as it named itself.
    def caller_name = @request.from
    # W3C trace context of the call.
    def traceparent = @request.traceparent
    def tracestate = @request.tracestate
    # Seconds until the deadline.
    def remaining = [0.0, @finish - Clock.now].max
    # Whether nobody needs the result any more: time is up, the caller gave up, or the worker leaves.
    def cancelled? = @told.set?
    # Waits so many seconds, or until it is told to stop; true when it is. Use it instead of sleep.
    def wait(seconds) = @told.wait(seconds)
    # A log whose lines carry the task and the request's id.
    def log = Log::OfTask.new(task, id)

    # Calls another task with what remains of this call's time, under the same trace. Raises a HubError.
    def call(task, args = {}, timeout: nil, queue: nil)
      called = task.respond_to?(:full_name) ? task.full_name : task
      wrong = Hub.wrong_arguments(called, [timeout, remaining].compact.min, queue)
      wrong ||= Aborted.new("The call of #{self.task} was over before #{called} was called.", task: called) if cancelled?
      raise wrong if wrong

      pending = @nested.call(called, args, [timeout, remaining].compact.min, [traceparent, tracestate], queue)
      begin
        watch(pending)
        pending.result
      ensure
        @lock.synchronize { @calls.delete(pending) }
      end
    end

    # Tells the handler to stop, and its nested calls with it. The first reason counts.
    def abort(reason)
      calls = @lock.synchronize do
        return if @reason

        @reason = reason
        @calls.to_a
      end
      @told.set
      calls.each(&:cancel)
    end

    private

    def watch(pending)
      over = @lock.synchronize do
        @calls << pending
        !@reason.nil?
      end
      pending.cancel if over
    end
  end

  # A declared task: give it to a Worker, or to Hub#call.
  class Task
    DEFAULT_TIMEOUT_S = 5.0
    MAX_TIMEOUT_S = 86_400

    attr_reader :name, :timeout_s, :idempotent, :digest

    def initialize(name, args, result, description, timeout, idempotent, handler)
      @name = Names.parse(name)
      raise ConfigError, "#{name}: a task needs a block" unless handler

      unless timeout.is_a?(Numeric) && timeout.positive? && timeout <= MAX_TIMEOUT_S
        raise ConfigError, "#{name}: timeout must be above 0 and at most #{MAX_TIMEOUT_S} seconds (a day)"
      end
      @args = args && Schema.own(args, "#{name}: args")
      @result = result && Schema.own(result, "#{name}: result")
      @description = description.to_s
      @timeout_s = timeout.to_f
      @idempotent = idempotent ? true : false
      @handler = handler
      # A lambda insists on its number of arguments.
      @takes_context = !handler.lambda? || handler.arity != 1
      @digest = Digest::SHA256.hexdigest(Payload.compact([@args&.json, @result&.json]))[0, 12]
    end

    def full_name = @name.full
    def inspect = "#<Pshub::Task #{full_name}>"
    def args_problems(args) = @args ? @args.problems(args) : []
    def result_checked? = !@result.nil?
    def result_problems(result) = @result.problems(result)
    def run(args, context) = @takes_context ? @handler.call(args, context) : @handler.call(args)

    def card(queue, settings, at_s)
      milliseconds = @timeout_s * 1000
      {
        "task" => full_name, "queue" => queue, "description" => @description, "args" => @args&.json, "result" => @result&.json,
        "timeoutMs" => milliseconds == milliseconds.to_i ? milliseconds.to_i : milliseconds, "idempotent" => @idempotent,
        "digest" => @digest, "maxPayloadBytes" => settings.max_payload_bytes, "maxBacklog" => settings.max_backlog, "at" => at_s
      }.compact
    end
  end

  # Declares tasks: <tt>extend Pshub::DSL</tt>, or Pshub.task. Files given to pshub-worker have it already.
  module DSL
    # Declares a task. The block gets the arguments as they come in JSON (hashes have strings as keys) and a Context; what it
    # returns is the result.
    #
    # +name+:: +name:major.minor+
    # +args+, +result+:: JSON Schemas (2020-12); without one any JSON is accepted
    # +description+:: Markdown; the first line is shown in lists
    # +timeout+:: seconds, for calls that give no time of their own
    # +idempotent+:: true when running twice does no harm: then a call is run again elsewhere if its worker dies
    #
    # Raises ConfigError for what cannot work.
    def task(name, args: nil, result: nil, description: "", timeout: Task::DEFAULT_TIMEOUT_S, idempotent: false, &handler)
      Task.new(name, args, result, description, timeout, idempotent, handler).tap { |task| Pshub.tasks << task }
    end
  end

  extend DSL

  # All tasks that were declared in this process.
  def self.tasks = @tasks ||= []
end
