# frozen_string_literal: true

require "digest/sha2"
require_relative "../wire/canonical"
require_relative "../wire/errors"
require_relative "../wire/job_part"
require_relative "../wire/names"
require_relative "../wire/times"
require_relative "merged"
require_relative "schema"

# Declared tasks.
module Pshub
  # A declared task: pass it to a Worker, or to Hub#call.
  class Task
    DEFAULT_TIMEOUT_S = 5.0
    MAX_TIMEOUT_S = 86_400
    DEFAULT_JOB_TIMEOUT_MS = 30 * 60 * 1000
    # Characters that say why a task is dangerous.
    MAX_DANGER = 500

    attr_reader :name, :timeout_s, :idempotent, :dangerous, :digest, :job_timeout_s, :retries, :backoff, :keyed, :on_failure, :batch, :max_payloads,
                :scores

    def initialize(name, args, result, description, timeout, idempotent, handler, job_timeout_ms: nil, retries: nil, backoff: nil,
                   keyed: nil, on_failure: nil, dangerous: false, yields: nil, **merged)
      @name = Names.parse(name)
      raise ConfigError, "#{name}: a task needs a block" unless handler

      timeout, job_timeout_ms, backoff = Times.seconds(timeout), Times.ms(job_timeout_ms), Times.ms(backoff)
      unless timeout.is_a?(Numeric) && timeout.positive? && timeout <= MAX_TIMEOUT_S
        raise ConfigError, "#{name}: timeout must be above 0 and at most #{MAX_TIMEOUT_S} seconds (a day)"
      end

      check_job_options(name, job_timeout_ms, retries, backoff)
      check_keyed(name, keyed, on_failure)
      given = Merged.read(name, text_of(keyed), merged, result, on_failure, yields)
      @job_timeout_s = (job_timeout_ms || DEFAULT_JOB_TIMEOUT_MS) / 1000.0
      @retries = retries
      @backoff = text_of(backoff)
      @keyed = keyed&.to_s
      @on_failure = (on_failure || "hold").to_s
      @batch, @max_payloads, @scores, @serialize, @deserialize = given.to_a
      @args = args && Schema.own(args, "#{name}: args")
      @result = result && Schema.own(result, "#{name}: result")
      @yields = yields == true || (yields.nil? ? nil : Schema.own(yields, "#{name}: yields"))
      @description = description.to_s
      @timeout_s = timeout.to_f
      @idempotent = idempotent ? true : false
      @dangerous = Task.danger(name, dangerous)
      @handler = handler
      # A lambda insists on its number of arguments.
      @takes_context = !handler.lambda? || handler.arity != 1
      schemas = [@args&.json, @result&.json, *([@yields.json] if chunks_checked?)]
      @digest = Digest::SHA256.hexdigest(Canonical.text(schemas, exact: false))[0, 12]
    end

    def full_name = @name.full
    def inspect = "#<Pshub::Task #{full_name}>"
    def args_problems(args) = @args ? @args.problems(args) : []
    def result_checked? = !@result.nil?
    def result_problems(result) = @result.problems(result)
    # Whether what its chunks are was declared, and not only that there are some.
    def chunks_checked? = @yields.is_a?(Schema)
    def chunk_problems(chunk) = @yields.problems(chunk)
    # Whether its jobs with the same key that wait are handed to it together.
    def merged? = @keyed == "merged"

    # What travels of what is enqueued.
    def serialized(payload) = @serialize ? @serialize.call(payload) : payload

    def run(args, context)
      args = Merged.by_key(args, @deserialize) if merged?
      @takes_context ? @handler.call(args, context) : @handler.call(args)
    end

    def card(queue, settings, at_s)
      milliseconds = @timeout_s * 1000
      {
        "task" => full_name, "queue" => queue, "description" => @description, "args" => @args&.json, "result" => @result&.json,
        "yields" => chunks_checked? ? @yields.json : @yields,
        "timeoutMs" => milliseconds == milliseconds.to_i ? milliseconds.to_i : milliseconds, "idempotent" => @idempotent,
        "dangerous" => @dangerous,
        "keyed" => @keyed, "scores" => (@scores if @scores == "first"), "digest" => @digest,
        "maxPayloadBytes" => settings.max_payload_bytes, "maxBacklog" => settings.max_backlog, "at" => at_s
      }.compact
    end

    # True, or why; nil where it is not. Raises ConfigError for what says neither.
    def self.danger(name, given)
      return given || nil if [true, false, nil].include?(given)
      return given if given.is_a?(String) && !given.strip.empty? && given.length <= MAX_DANGER

      raise ConfigError, "#{name}: dangerous must be true or false, or say why in 1 to #{MAX_DANGER} characters"
    end

    private

    def check_keyed(name, keyed, on_failure)
      raise ConfigError, "#{name}: keyed must be 'ordered' or 'merged', or be left out" unless keyed.nil? || JobPart.keyed?(text_of(keyed))
      unless on_failure.nil? || %w[hold pass].include?(text_of(on_failure))
        raise ConfigError, "#{name}: on_failure must be 'hold' or 'pass'"
      end
      return if on_failure.nil? || keyed

      raise ConfigError, "#{name}: on_failure is about jobs with a key; give keyed: 'ordered' too"
    end

    def text_of(value) = value.is_a?(Symbol) ? value.to_s : value

    def check_job_options(name, job_timeout_ms, retries, backoff)
      most = MAX_TIMEOUT_S * 1000
      unless job_timeout_ms.nil? || (job_timeout_ms.is_a?(Numeric) && job_timeout_ms.positive? && job_timeout_ms <= most)
        raise ConfigError, "#{name}: job_timeout_ms must be above 0 and at most #{most} (a day)"
      end
      raise ConfigError, "#{name}: retries must be a whole number of at least 0" unless retries.nil? || JobPart.wait?(retries)

      kind = text_of(backoff)
      return if kind.nil? || kind.respond_to?(:call) || JobPart.backoff?(kind)

      raise ConfigError, "#{name}: backoff must be #{JobPart::BACKOFF_KINDS}, or a proc"
    end
  end

  # Declares tasks: <tt>extend Pshub::DSL</tt>, or Pshub.task. Files given to pshub-worker-rb have it already.
  module DSL
    # Declares a task. The block receives the arguments as JSON (hashes have strings as keys) and a Context; its return value is the
    # result.
    #
    # +name+:: +name:major.minor+
    # +args+, +result+:: JSON Schemas (2020-12); without one any JSON is accepted
    # +yields+:: JSON Schema of each element of the Enumerator that it returns: an element that does not match ends it with
    #   InvalidResult. true: it yields chunks of any kind
    # +description+:: Markdown; lists show the first line
    # +timeout+:: timeout in seconds of calls that set none
    # +idempotent+:: true if running it twice is safe: then another worker runs a call again if its worker crashes
    # +dangerous+:: true, or the reason in at most 500 characters, if it needs a confirmation: <tt>pshub call</tt> and the form of the
    #   registry ask before they run it; programs are not asked
    # +job_timeout_ms+:: how long it may run as a job, in milliseconds; default 30 minutes
    # +retries+:: how often a job is retried when it fails, unless the job sets it; default 25
    # +backoff+:: wait before a retry: 'exponential' (default), 'polynomial' (default for merged jobs), milliseconds, an array of them,
    #   or a proc of the error and the number of failures, which returns milliseconds, or nil for a job that shall be dead
    # +keyed+:: jobs of this task have keys. 'ordered': jobs with the same key run one at a time, in order, across all workers of all
    #   languages. 'merged': waiting jobs with the same key are passed to the block together, each payload once, as a Hash of keys and
    #   their payloads, lower scores first, and a key has at most one run at a time. Default: no keys
    # +on_failure+:: while a failed keyed job waits for its retry: 'hold' (default) makes the next jobs of its key wait; 'pass' runs
    #   them first
    # +batch+:: for merged jobs: maximum number of keys per run, 1 to 100; default 1
    # +max_payloads+:: maximum number of payloads per key and run, 1 to 10,000; the rest comes in the next run; default 1000
    # +scores+:: which score counts if an equal payload is already waiting: the 'last' one (default), or the 'first'
    # +serialize+:: a proc that converts a payload to the JSON that is sent, which +args+ describes; used if you enqueue the task
    #   itself, not its name; default: the payload itself
    # +deserialize+:: a proc that converts that JSON back to a payload for the block
    #
    # Raises ConfigError for an invalid option.
    def task(name, args: nil, result: nil, description: "", timeout: Task::DEFAULT_TIMEOUT_S, idempotent: false, **jobs, &handler)
      Task.new(name, args, result, description, timeout, idempotent, handler, **jobs).tap { |task| Pshub.tasks << task }
    end
  end

  extend DSL

  # All tasks declared in this process.
  def self.tasks = @tasks ||= []
end
