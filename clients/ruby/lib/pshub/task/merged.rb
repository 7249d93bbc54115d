# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "../wire/times"

module Pshub
  # What is said of a task that merges its jobs, beside what is said of any.
  MergedOptions = Struct.new(:batch, :max_payloads, :scores, :serialize, :deserialize, keyword_init: true)

  # Tasks that merge their jobs: how they are declared, and what their blocks are given.
  module Merged
    DEFAULT_BATCH = 1
    DEFAULT_MAX_PAYLOADS = 1000
    MOST_KEYS = 100
    MOST_PAYLOADS = 10_000
    NAMES = MergedOptions.members.freeze

    module_function

    # MergedOptions with their defaults. Raises ConfigError for an option that cannot work.
    def read(name, keyed, given, result, on_failure, yields)
      unknown = (given.keys - NAMES).first
      raise ArgumentError, "unknown keyword: :#{unknown}" if unknown

      given = given.compact
      if keyed == "merged" then check(name, given, result, on_failure, yields)
      elsif given.any? then raise ConfigError, "#{name}: #{given.keys.first} is for tasks that merge their jobs; give keyed: 'merged' too"
      end
      scores = given[:scores]&.to_s || "last"
      MergedOptions.new(batch: DEFAULT_BATCH, max_payloads: DEFAULT_MAX_PAYLOADS, **given, scores: scores)
    end

    def check(name, given, result, on_failure, yields)
      { batch: MOST_KEYS, max_payloads: MOST_PAYLOADS }.each do |option, most|
        value = given.fetch(option, 1)
        next if value.is_a?(Integer) && !Times.duration?(value) && value.between?(1, most)

        raise ConfigError, "#{name}: #{option} must be a whole number from 1 to #{most}"
      end
      raise ConfigError, "#{name}: scores must be 'first' or 'last'" unless %w[first last].include?(given.fetch(:scores, "last").to_s)

      no_proc = %i[serialize deserialize].find { |option| given.key?(option) && !given[option].respond_to?(:call) }
      raise ConfigError, "#{name}: #{no_proc} must be a proc" if no_proc
      raise ConfigError, "#{name}: result has no effect: nobody receives what a run of merged jobs returns" if result
      raise ConfigError, "#{name}: yields has no effect: nobody reads what a run of merged jobs yields" unless yields.nil?
      return unless on_failure

      raise ConfigError, "#{name}: on_failure is for keyed: 'ordered': a key that failed keeps its payloads together"
    end

    # Of a run, pairs of a key and its payloads as they travelled, what its block is given.
    def by_key(run, deserialize)
      run.to_h { |key, payloads| [key, deserialize ? payloads.map { |each| deserialize.call(each) } : payloads] }
    end
  end
end
