# frozen_string_literal: true

require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/job_part"
require_relative "../wire/keys"
require_relative "../wire/canonical"
require_relative "../wire/times"

module Pshub
  # How a job is to be run: what Hub#enqueue is told, and what that comes to in its message.
  module EnqueueOptions
    KNOWN = %i[queue forward delay_ms at retries backoff key score priority expires_ms tracked keep_result_ms unique durable timeout_ms].freeze
    UNIQUE = %i[id until for_ms].freeze
    # They are no matter of the job itself.
    OUTSIDE = %i[queue forward durable timeout_ms].freeze
    HOUR_MS = 3600 * 1000
    DAY_MS = 24 * HOUR_MS
    MAX_UNIQUE_ID = 100
    DEFAULT_TIMEOUT_MS = 5000
    WAITS = %i[delay_ms expires_ms keep_result_ms backoff].freeze
    # Beyond that they are not told apart any more.
    MAX_SCORE = 2**53
    # What is said of one job has no meaning where several become one.
    UNMERGEABLE = %i[retries backoff expires_ms tracked keep_result_ms unique].freeze

    module_function

    # The part of a job's message, or nil for one that carries nothing but its arguments, and the milliseconds after which it is not wanted
    # any more, 0 for never. +args_json+: arguments as they travel; +keyed+ and +scores+: as its task is. Raises InvalidArgs that names the
    # option.
    def shape(task, args_json, options, keyed, scores = nil)
      given = options.compact
      unknown = (given.keys - KNOWN).first
      raise wrong(task, "there is no option '#{unknown}'. Known: #{KNOWN.join(', ')}") if unknown
      raise wrong(task, "durable must be 'replica', not #{shown(given[:durable])}") unless [nil, "replica"].include?(given[:durable]&.to_s)

      given = { **given, **given.slice(*WAITS).transform_values { |each| Times.ms(each) } }
      keyed = given.key?(:key) ? "ordered" : nil if given.key?(:forward)
      return [nil, 0] if keyed.nil? && (given.keys - OUTSIDE).empty?

      check_key(task, given, keyed)
      check_merged(task, given) if keyed == "merged"
      check_score(task, given[:score], keyed)
      check(task, given)
      part = {
        "retries" => given[:retries], "backoff" => kind_of(given[:backoff]), "delay" => delay_of(given), "due" => due_of(task, given[:at]),
        "key" => given[:key], **(keyed == "merged" ? merged_part(given, scores) : {}),
        "priority" => (given[:priority].to_s if %w[high low].include?(given[:priority].to_s)),
        "keep" => (given.fetch(:keep_result_ms, HOUR_MS) if tracked?(given)), **unique_of(task, args_json, given)
      }.compact
      part["keep"] = part["keep"].round if part.key?("keep")
      [part.empty? ? nil : part, given.key?(:expires_ms) ? [1, given[:expires_ms].round].max : 0]
    end

    # Whether a replica is to confirm it.
    def durable?(options) = !options[:durable].nil?

    # Options of several, and those of one of them, which win: also as to where it goes.
    def combined(common, own)
      given = own.compact
      given.key?(:queue) || given.key?(:forward) ? { **common.except(:queue, :forward), **given } : { **common, **given }
    end

    # The queue that is named, if any, and what a route to it is for: +:jobs+ or +:forward+. Raises InvalidArgs.
    def place(called, options)
      queue, forward = options.values_at(:queue, :forward)
      forwarder = Keys.forwarder_of(queue)
      if forward.nil?
        return [queue, :jobs] if forwarder.nil?

        raise wrong(called, "queue #{shown(queue)} belongs to a forwarder: use forward instead, #{shown(forwarder)}")
      end
      raise wrong(called, "give queue or forward, not both: a forwarder has a queue of its own") unless queue.nil?
      return [Keys.forward_queue(forward), :forward] if Keys.forwarder_name?(forward)

      raise wrong(called, "forward must be the name of a forwarder, 1 to 56 letters, digits, and _ . -, not #{shown(forward)}")
    end

    # How long Redis may take to confirm, in seconds. Raises InvalidArgs.
    def timeout_s(what, timeout_ms)
      timeout_ms = timeout_ms.nil? ? DEFAULT_TIMEOUT_MS : Times.ms(timeout_ms)
      return timeout_ms / 1000.0 if Times.number?(timeout_ms) && timeout_ms.positive?

      raise InvalidArgs, "enqueue #{what}: timeout_ms must be a number of milliseconds, not #{shown(timeout_ms)}."
    end

    def check_key(task, given, keyed)
      key = given[:key]
      return if key.nil? && keyed.nil?
      raise wrong(task, "its jobs are #{keyed}: give a key, for example key: 'order-17'") if key.nil?

      unless keyed
        what = "it has a key, but no worker declared the task as keyed: 'ordered' or 'merged'"
        raise wrong(task, "#{what}. Declare it so, or leave out the key")
      end
      check_key_text(task, key)
      return if [nil, "normal"].include?(given[:priority]&.to_s)

      raise wrong(task, "jobs with a key have no priority: they run in order. Leave it out")
    end

    # Raises InvalidArgs.
    def check_key_text(task, key)
      return if key_bytes(key).between?(1, JobPart::MAX_KEY_BYTES)

      raise wrong(task, "key must be a string of 1 to #{JobPart::MAX_KEY_BYTES} bytes, not #{shown(key)}")
    end

    def check_merged(task, given)
      name = UNMERGEABLE.find { |each| given.fetch(each, false) != false } or return
      what = "#{name} is not allowed for a merged job, which runs together with others"
      raise wrong(task, "#{what}. #{advice_for(name)}")
    end

    def advice_for(name)
      return "Set it on the task" if %i[retries backoff].include?(name)
      return "Leave it out" unless name == :tracked

      "Leave it out; a merged job also cannot be a step of a chain or follow a batch"
    end

    def check_score(task, score, keyed)
      return if score.nil?
      raise wrong(task, "score is for merged jobs, and no worker declared the task as keyed: 'merged'. Leave it out") unless keyed == "merged"
      return if Times.number?(score) && score.abs <= MAX_SCORE

      raise wrong(task, "score must be a number of at most 2^53, not #{shown(score)}")
    end

    # Any number as one of JSON.
    def merged_part(given, scores)
      score = given[:score]
      { "merged" => true, "score" => score && (score == score.to_i ? score.to_i : score.to_f), "scores" => scores }
    end

    # Of a key as it travels; 0 for what is no text.
    def key_bytes(key)
      key.is_a?(String) && key.valid_encoding? ? key.encode(Encoding::UTF_8).bytesize : 0
    rescue EncodingError
      0
    end

    def check(task, given)
      %i[delay_ms expires_ms keep_result_ms].each { |name| need_wait(task, name, given[name]) }
      raise wrong(task, "give delay_ms or at, not both") if given.key?(:delay_ms) && given.key?(:at)

      retries, backoff, priority = given.values_at(:retries, :backoff, :priority)
      unless retries.nil? || JobPart.wait?(retries, 1_000_000)
        raise wrong(task, "retries must be a whole number of at least 0, not #{shown(retries)}")
      end
      unless backoff.nil? || JobPart.backoff?(kind_of(backoff))
        raise wrong(task, "backoff must be #{JobPart::BACKOFF_KINDS}, not #{shown(backoff)}")
      end
      return if priority.nil? || %w[high normal low].include?(priority.to_s)

      raise wrong(task, "priority must be 'high', 'normal' or 'low', not #{shown(priority)}")
    end

    def kind_of(backoff) = backoff.is_a?(Symbol) ? backoff.to_s : backoff
    def tracked?(given) = given[:tracked] == true || given.key?(:keep_result_ms) || given.fetch(:unique, false) != false
    def delay_of(given) = (given[:delay_ms].round if given.fetch(:delay_ms, 0).positive?)
    def now_ms = Clock.wall_ms

    def due_of(task, at)
      return nil if at.nil?

      moment_ms = Times.moment_ms(at)
      ms = moment_ms || at
      unless Times.number?(ms) && ms.between?(0, now_ms + JobPart::LONGEST_WAIT_MS)
        raise wrong(task, "at must be a Time or milliseconds since 1970, at most ten years from now, not #{shown(at)}")
      end

      early = Times.too_early("at", at) unless moment_ms
      raise wrong(task, early) if early

      ms.round
    end

    def unique_of(task, args_json, given)
      unique = given.fetch(:unique, false)
      return {} if unique == false

      told = unique.is_a?(Hash) ? unique.compact : { id: unique == true ? nil : unique }
      unknown = (told.keys - UNIQUE).first
      raise wrong(task, "there is no option 'unique.#{unknown}'. Known: #{UNIQUE.join(', ')}") if unknown

      id, till, for_ms = told.values_at(:id, :until, :for_ms)
      for_ms = Times.ms(for_ms)
      check_unique(task, id, till, for_ms)
      wait_ms = given.key?(:at) ? [0, due_of(task, given[:at]) - now_ms].max : given.fetch(:delay_ms, 0)
      text = id.nil? ? "#{task}##{Canonical.digest(args_json)}" : "#{task}:#{id}"
      { "unique" => text, "uniqueMs" => [1, (for_ms || (wait_ms + DAY_MS)).round].max, "until" => ("started" if till.to_s == "started") }
    end

    def check_unique(task, id, till, for_ms)
      unless id.nil? || (id.is_a?(String) && id.length.between?(1, MAX_UNIQUE_ID))
        raise wrong(task, "a unique id must be a string of 1 to #{MAX_UNIQUE_ID} characters, not #{shown(id)}")
      end
      unless till.nil? || %w[ended started].include?(till.to_s)
        raise wrong(task, "unique.until must be 'ended' or 'started', not #{shown(till)}")
      end

      need_wait(task, "unique.for_ms", for_ms)
    end

    def need_wait(task, name, wait_ms)
      return if wait_ms.nil? || (Times.number?(wait_ms) && wait_ms.between?(0, JobPart::LONGEST_WAIT_MS))

      raise wrong(task, "#{name} must be milliseconds, 0 to ten years, not #{shown(wait_ms)}")
    end

    def shown(value) = value.inspect[0, 80]
    def wrong(task, what) = InvalidArgs.new("enqueue #{task}: #{what}.", task: task)
  end
end
