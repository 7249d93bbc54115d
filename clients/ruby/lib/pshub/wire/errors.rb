# frozen_string_literal: true

require_relative "times"

module Pshub
  # One row of the table of errors. +ran+ is +no+ (the handler was certainly not started), +maybe+, or +yes+.
  ErrorRow = Struct.new(:ran, :retryable, :http_status, :meaning)

  # PROTOCOL.md, section 7; a test holds it against clients/vectors/errors.json. Each code is a class of its own.
  ERROR_TABLE = {
    "NotEnqueued" => ErrorRow.new("no", true, 503, "The request did not reach Redis."),
    "NoSuchTask" => ErrorRow.new("no", false, 404, "No worker ever declared this task."),
    "NoWorkers" => ErrorRow.new("no", true, 503, "The task is known, but no live worker provides it."),
    "Overloaded" => ErrorRow.new("no", true, 429, "The queue is full, or too long for the call to finish before its deadline."),
    "Expired" => ErrorRow.new("no", true, 504, "The deadline passed while the request was waiting."),
    "InvalidArgs" => ErrorRow.new("no", false, 400, "The arguments do not match the schema of the task."),
    "PayloadTooLarge" => ErrorRow.new("no", false, 413, "The arguments are larger than allowed."),
    "HubClosed" => ErrorRow.new("no", false, 503, "The hub was closed before the request was sent."),
    "Timeout" => ErrorRow.new("maybe", false, 504, "No reply came before the deadline."),
    "WorkerLost" => ErrorRow.new("maybe", false, 502, "The worker crashed or lost its lease while it held the request."),
    "OutcomeUnknown" => ErrorRow.new(
      "maybe", false, 502, "The connection to Redis broke, and it is unknown whether the request arrived."
    ),
    "NoSuchJob" => ErrorRow.new(
      "maybe", false, 404, "There is no record of a job with this id: it was not tracked, or the record has expired."
    ),
    "Aborted" => ErrorRow.new("maybe", false, 499, "The caller stopped waiting."),
    "TaskFailed" => ErrorRow.new("yes", false, 500, "The handler of the task failed."),
    "InvalidResult" => ErrorRow.new(
      "yes", false, 500, "The result is not JSON, is too large, or does not match the result schema."
    )
  }.freeze

  # Every way in which a call can fail. Rescue a subclass to decide by code; check +ran+ if you only need to know whether repeating is
  # safe.
  class HubError < StandardError
    # +code+:: the name of the class; for a TaskFailed the code that its handler chose, if any
    # +ran+:: +no+, +maybe+ or +yes+: whether the handler was started
    # +retryable+:: whether a retry may succeed
    # +http_status+:: HTTP status of this error; for a TaskFailed the one that its handler chose, if any
    # +data+:: details: <tt>{"problems" => [...]}</tt> for invalid arguments, the handler's own for a failed task
    # +task+, +id+:: +name:version+ and the request id, as far as they are known
    attr_reader :code, :ran, :retryable, :http_status, :data, :task, :id

    def initialize(message = nil, task: nil, id: nil, retryable: nil, data: nil, ran: nil, code: nil, http_status: nil)
      row = ERROR_TABLE.fetch(kind)
      super(message || row.meaning)
      @task = task
      @id = id
      @retryable = retryable.nil? ? row.retryable : retryable
      @data = data
      @ran = ran || row.ran
      @code = code || kind
      @http_status = http_status || row.http_status
    end

    # The code in the table of pshub: +TaskFailed+ if the handler chose its own.
    def kind = self.class::CODE

    # The fields that others may see: no backtrace, no cause.
    def to_h
      {
        "code" => code, "message" => message, "ran" => ran, "retryable" => retryable, "task" => task, "id" => id, "data" => data
      }.compact
    end
  end

  ERROR_CLASSES = ERROR_TABLE.keys.to_h do |code|
    [code, const_set(code, Class.new(HubError) { const_set(:CODE, code) })]
  end.freeze

  # An invalid setting, declaration or command line; raised before anything is started.
  class ConfigError < StandardError; end

  # Raise it in a handler to say more than a message. The caller gets a TaskFailed with all of it.
  class TaskError < StandardError
    attr_reader :code, :http_status, :data

    # +code+:: a code for callers, such as +NoSuchCity+: a capital letter, then letters and digits, at most 64. Default: +TaskFailed+
    # +http_status+:: HTTP status, 400 to 599. Default: 500. Under 500 it is an expected failure: the call counts as rejected
    # +retryable+:: whether a retry may help. A job is retried unless this is false; a call only if it is true
    # +data+:: structured data for the caller
    #
    # Raises ConfigError for an invalid code, a code of pshub itself, or an invalid status.
    def initialize(message = nil, code: nil, http_status: nil, retryable: nil, data: nil)
      super(message)
      raise ConfigError, Errors.why_not_own(code) unless [nil, "TaskFailed"].include?(code) || Errors.own_code?(code)
      unless http_status.nil? || (http_status.is_a?(Integer) && Errors.failed_status?(http_status))
        raise ConfigError, "The http_status of a TaskError must be a whole number from 400 to 599, not #{Errors.shown(http_status)}."
      end

      @code = code || "TaskFailed"
      @http_status = http_status
      @retryable = retryable
      @data = data
    end

    def retryable = @retryable == true
    # Whether it was said that it would fail again.
    def final? = @retryable == false
  end

  # Raise it in a handler to delay a request: a job, or a run of merged jobs, waits for the delay, which does not count as a try. A call
  # fails with an error that may be retried.
  class PutOff < StandardError
    LONGEST_MS = 10 * 365 * 24 * 3600 * 1000

    attr_reader :delay_ms

    # +delay_ms+:: milliseconds, or a duration
    #
    # Raises ConfigError for a delay that is not from 0 to ten years.
    def initialize(delay_ms, message = "The task cannot run now; try again later.")
      super(message)
      delay_ms = Times.ms(delay_ms)
      unless Times.number?(delay_ms) && delay_ms.between?(0, LONGEST_MS)
        raise ConfigError, "The delay of a PutOff must be 0 to #{LONGEST_MS} ms, not #{Errors.shown(delay_ms)}."
      end

      @delay_ms = delay_ms
    end
  end

  # What is said about errors.
  module Errors
    MOST_SHOWN = 80

    module_function

    # A code that this version does not know is a failed task, as far as a caller can tell.
    def make(code, message = nil, **details)
      ERROR_CLASSES.fetch(code, TaskFailed).new(message, **details)
    end

    # The error of a reply.
    def from_wire(error, **details)
      code, retryable, status = error.values_at("code", "retryable", "status")
      details[:retryable] = retryable if [true, false].include?(retryable)
      unless ERROR_CLASSES.key?(code) && code != "TaskFailed"
        details[:code] = code if own_code?(code)
        details[:http_status] = status.to_i if failed_status?(status)
      end
      make(code, error["message"], data: error["data"], **details)
    end

    # How a call or job counts that ended with this code, and the status that its handler chose; nil: it ended well. +rejected+: certainly
    # not run, or turned away by its handler with a status under 500. +failed+: all else.
    def outcome_of(code = nil, status = nil)
      return "ok" unless code

      kind_of(code).ran == "no" || expected?(code, status) ? "rejected" : "failed"
    end

    # Rejected by its handler, which is no fault of anybody's.
    def expected?(code, status) = own_kind?(code) && (status || 500) < 500

    # Whether a handler says so: a code of its own, or none.
    def own_kind?(code) = code == "TaskFailed" || !ERROR_TABLE.key?(code)

    # The row of pshub's own table.
    def kind_of(code) = ERROR_TABLE.fetch(code) { ERROR_TABLE.fetch("TaskFailed") }

    # What a handler may call a failure of its own: short, and never what pshub says itself.
    def own_code?(code) = code.is_a?(String) && code.valid_encoding? && code.match?(/\A[A-Z][A-Za-z0-9]{0,63}\z/) && !ERROR_TABLE.key?(code)

    def failed_status?(status) = status.is_a?(Numeric) && status.real? && status.between?(400, 599) && status == status.to_i

    # What somebody gave in the place of something else, cut where it is long.
    def shown(given) = given.inspect.length > MOST_SHOWN ? "#{given.inspect[0, MOST_SHOWN]}…" : given.inspect

    def why_not_own(code)
      if ERROR_TABLE.key?(code)
        return "#{code} is a code that pshub itself uses. Choose another one, such as NoSuchCity."
      end

      "The code of a TaskError must start with a capital letter and have at most 64 letters and digits, such as NoSuchCity; it is #{shown(code)}."
    end

    # Why a keyed task takes no calls.
    def keyed(task)
      why = "#{task} is keyed and takes no calls: a call would run beside the jobs of its key"
      InvalidArgs.new("#{why}. Enqueue a job with a key, as in 'pshub enqueue #{task} --key order-17'.", task: task)
    end

    # An InvalidArgs or InvalidResult whose message names each offending field.
    def of_problems(code, problems, task, id: nil)
      what = code == "InvalidArgs" ? "arguments" : "result"
      shown = problems.first(5).map { |each| "#{each['pointer'].empty? ? what : each['pointer']} #{each['message']}" }
      more = problems.size > 5 ? "; and #{problems.size - 5} more" : ""
      make(code, "The #{what} of #{task || 'the task'}: #{shown.join('; ')}#{more}.", task: task, id: id, data: { "problems" => problems })
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
