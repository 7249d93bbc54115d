# frozen_string_literal: true

module Pshub
  # One row of the table of errors. +ran+ is +no+ (the handler was certainly not started), +maybe+, or +yes+.
  ErrorRow = Struct.new(:ran, :retryable, :http_status, :meaning)

  # PROTOCOL.md, section 7; a test holds it against clients/vectors/errors.json. Each code is a class of its own.
  ERROR_TABLE = {
    "NotEnqueued" => ErrorRow.new("no", true, 503, "The request did not reach Redis."),
    "NoSuchTask" => ErrorRow.new("no", false, 404, "No worker ever declared this task."),
    "NoWorkers" => ErrorRow.new("no", true, 503, "The task is known, but no live worker provides it."),
    "Overloaded" => ErrorRow.new("no", true, 429, "The backlog is longer than the call can wait for."),
    "Expired" => ErrorRow.new("no", true, 504, "The deadline passed while the request was waiting."),
    "InvalidArgs" => ErrorRow.new("no", false, 400, "The arguments do not fit the schema of the task."),
    "PayloadTooLarge" => ErrorRow.new("no", false, 413, "The arguments are larger than allowed."),
    "HubClosed" => ErrorRow.new("no", false, 503, "The hub was closed before the request was sent."),
    "Timeout" => ErrorRow.new("maybe", false, 504, "No reply came before the deadline."),
    "WorkerLost" => ErrorRow.new("maybe", false, 502, "The worker that held the request died."),
    "OutcomeUnknown" => ErrorRow.new(
      "maybe", false, 502, "The connection to Redis broke before it was known whether the request arrived."
    ),
    "NoSuchJob" => ErrorRow.new(
      "maybe", false, 404, "No job of this id is known: it was not tracked, or its record has gone."
    ),
    "Aborted" => ErrorRow.new("maybe", false, 499, "The caller gave up waiting."),
    "TaskFailed" => ErrorRow.new("yes", false, 500, "The handler of the task failed."),
    "InvalidResult" => ErrorRow.new(
      "yes", false, 500, "The handler returned something that is not JSON, too large, or against its result schema."
    )
  }.freeze

  # Every way in which a call can fail. Rescue a subclass to decide by code; look at +ran+ when all that counts is whether it is
  # safe to call again.
  class HubError < StandardError
    # +ran+:: +no+, +maybe+ or +yes+: whether the handler was started
    # +retryable+:: whether a later try may succeed
    # +data+:: details: <tt>{"problems" => [...]}</tt> of invalid arguments, the handler's own of a failed task
    # +task+, +id+:: +name:version+ and the request's id, as far as they are known
    attr_reader :retryable, :data, :task, :id

    def initialize(message = nil, task: nil, id: nil, retryable: nil, data: nil)
      super(message || row.meaning)
      @task = task
      @id = id
      @retryable = retryable.nil? ? row.retryable : retryable
      @data = data
    end

    def code = self.class::CODE
    def ran = row.ran
    def http_status = row.http_status
    def row = ERROR_TABLE.fetch(code)

    # What may be told to others: no backtrace, no cause.
    def to_h
      { "code" => code, "message" => message, "retryable" => retryable, "task" => task, "id" => id, "data" => data }.compact
    end
  end

  ERROR_CLASSES = ERROR_TABLE.keys.to_h do |code|
    [code, const_set(code, Class.new(HubError) { const_set(:CODE, code) })]
  end.freeze

  # Raised by a handler to say more than a message: whether a retry may help, and details for the caller. A job is tried again unless
  # +retryable+ is false; a call, which nobody else would know to be harmless, only where it is true.
  class TaskError < StandardError
    attr_reader :data

    def initialize(message = nil, retryable: nil, data: nil)
      super(message)
      @retryable = retryable
      @data = data
    end

    def retryable = @retryable == true
    # Whether it was said that it would fail again.
    def final? = @retryable == false
  end

  # A setting, a declaration or a command line that cannot work; raised before anything is started.
  class ConfigError < StandardError; end

  # What is said about errors.
  module Errors
    module_function

    # A code that this version does not know is a failed task, as far as a caller can tell.
    def make(code, message = nil, **details)
      ERROR_CLASSES.fetch(code, TaskFailed).new(message, **details)
    end

    # The error of a reply.
    def from_wire(error, **details)
      retryable = error["retryable"]
      details[:retryable] = retryable if [true, false].include?(retryable)
      make(error["code"], error["message"], data: error["data"], **details)
    end

    # An InvalidArgs or InvalidResult whose message names each offending field.
    def of_problems(code, problems, task, id: nil)
      what = code == "InvalidArgs" ? "arguments" : "result"
      shown = problems.first(5).map { |each| "#{each['pointer'].empty? ? what : each['pointer']} #{each['message']}" }
      more = problems.size > 5 ? "; and #{problems.size - 5} more" : ""
      make(code, "The #{what} of #{task}: #{shown.join('; ')}#{more}.", task: task, id: id, data: { "problems" => problems })
    end

    # Any exception as one sentence; its own methods may raise in turn.
    def message_of(error)
      text = error.message.to_s
      text = text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub
      text.empty? ? error.class.name.to_s : text
    rescue StandardError
      "a #{error.class} that cannot be shown"
    end
  end
end
