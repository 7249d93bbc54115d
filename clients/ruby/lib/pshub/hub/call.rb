# frozen_string_literal: true

module Pshub
  # How one entry of a gather ended: with +value+, or with +error+; +ms+ is its own wait.
  Outcome = Struct.new(:ok, :value, :error, :ms, keyword_init: true) do
    alias_method :ok?, :ok
  end

  # Where a message is in the list, as far as that is known; +ttl_ms+ 0: its exact text is not.
  InList = Struct.new(:at, :ttl_ms, :ahead)

  # A call that is under way; what Hub#submit returns.
  class PendingCall
    # A request that cannot be sent for this long, because Redis is away, fails at once instead of at its deadline.
    UNSENT_S = 1.0
    MAX_TIMEOUT_S = 86_400.0

    attr_reader :called, :queue, :timeout_s, :trace, :started_at, :finish, :route, :args_json
    # The present try; nil while the name is looked up.
    attr_accessor :attempt

    # One that ended before it began.
    def self.failed(error) = new(nil, nil, nil, nil, nil).tap { |call| call.settle(nil, error) }

    # +queue+: the only one whose workers count, or nil.
    def initialize(core, called, args, timeout_s, trace, queue = nil)
      @core = core
      @called = called
      @args = args
      @timeout_s = timeout_s
      @trace = trace
      @queue = queue
      @started_at = Clock.now
      @lock = Mutex.new
      @settled = ConditionVariable.new
    end

    # Where it goes is known. Raises InvalidArgs or PayloadTooLarge.
    def routed(route, max_payload_bytes)
      @args_json = encode(route, [max_payload_bytes, route.max_payload_bytes].min)
      @args = nil
      @finish = @started_at + [@timeout_s || route.timeout_s, MAX_TIMEOUT_S].min
      @route = route
    end

    # How long it waits to be told where its task runs.
    def patience_end = @started_at + [@timeout_s || UNSENT_S, UNSENT_S].min

    # The first outcome counts.
    def settle(value, error)
      @lock.synchronize do
        return if @ended_at

        @value = value
        @error = error
        @ended_at = Clock.now
        @settled.broadcast
      end
    end

    def done? = !@ended_at.nil?

    # Gives up: a waiting request is taken out of the list, a running handler is told. +result+ raises Aborted.
    def cancel = @core&.cancel(self)

    # Waits for the result. Raises a HubError by the call's deadline at the latest.
    def result
      wait
      raise @error if @error

      @value
    end

    # The same without raising.
    def outcome
      wait
      Outcome.new(ok: @error.nil?, value: @value, error: @error, ms: (@ended_at - @started_at) * 1000)
    end

    private

    def wait
      until done?
        look = @core.next_look(self)
        @lock.synchronize do
          left = look - Clock.now
          @settled.wait(@lock, left) if !@ended_at && left.positive?
        end
        @core.expire(self) if !done? && Clock.now >= look
      end
    ensure
      # The thread that waits was ended: nobody waits any more.
      cancel unless done?
    end

    def encode(route, max_bytes)
      text = Payload.encode(@args)
      if Payload.exceeds?(text, max_bytes)
        raise PayloadTooLarge.new(
          "The arguments of #{route.task} are larger than #{max_bytes} bytes; pass a reference to them instead.", task: route.task
        )
      end
      # What counts is what travels: a symbol is a text there.
      problems = route.schema ? route.schema.problems(Payload.decode(text)) : []
      raise Errors.of_problems("InvalidArgs", problems, route.task) unless problems.empty?

      text
    rescue Payload::Problem => e
      raise Errors.of_problems("InvalidArgs", [e.problem], route.task)
    end
  end

  # One try of a call, from the moment its request exists until it ends: by its reply, its deadline, its caller, or a refusal. Its
  # fields change under the hub's lock.
  class Attempt
    attr_reader :id, :call, :body, :tries, :earlier
    # +in_doubt+: it was written and not answered, so it may be running. +setback+: why the last try to push it failed.
    attr_accessor :settled, :in_doubt, :abandoned, :setback, :pushed, :waits_since, :not_before

    def initialize(call, tail, previous = nil, error = nil, wait_s = 0)
      @id = Keys.new_id
      @call = call
      @body = Message.body(@id, task, call.args_json, tail)
      @tries = previous ? previous.tries + 1 : 0
      @waits_since = previous ? Clock.now : call.started_at
      @not_before = Clock.now + wait_s
      # How an earlier try ended that may have been run; then no later one can say that it certainly was not.
      @earlier = error&.ran == "no" ? previous.earlier : error
    end

    def task = @call.route.task
    def queue = @call.route.queue
    def finish = @call.finish
    def sent? = !@pushed.nil? || @in_doubt

    # Earlier than the call's own while its request cannot be sent.
    def deadline = sent? ? finish : [finish, @waits_since + PendingCall::UNSENT_S].min

    # What can truthfully be said at the deadline: sent and acknowledged, perhaps sent, or not sent. +down_reason+ is why Redis is
    # away, if it is.
    def lateness(down_reason)
      waited = "#{((Clock.now - @call.started_at) * 1000).round} ms"
      details = { task: task, id: @id }
      return Timeout.new("#{task} did not answer within #{waited}.", **details) if @pushed

      if @in_doubt
        return OutcomeUnknown.new("Redis did not confirm the request within #{waited}; it may have been run.", **details)
      end

      reason = Errors.explained(@setback || down_reason || "it did not answer")
      NotEnqueued.new("Redis could not be given the request for #{waited}: #{reason}.", **details)
    end

    # What it is told when its hub is closed.
    def closed_error
      details = { task: task, id: @id }
      sent? ? Aborted.new("The hub was closed while #{task} was running.", **details) : HubClosed.new(**details)
    end
  end
end
