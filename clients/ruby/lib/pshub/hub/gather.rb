# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "arguments"

module Pshub
  # How one entry of a gather ended: with +value+, or with +error+; +ms+ is its own wait.
  Outcome = Struct.new(:ok, :value, :error, :ms, keyword_init: true) do
    alias_method :ok?, :ok
  end

  # Many calls at once.
  module Gather
    EXAMPLE = 'gather(user: ["user:1.0", { id: 7 }], news: "news:2", timeout: 2)'

    # By name what #submit takes. +given+ are positional arguments, +named+ keywords. Raises InvalidArgs.
    def self.entries(given, timeout, queue, named)
      calls = given.first || {}
      raise InvalidArgs, "gather takes calls as keywords or in one Hash: #{EXAMPLE}." unless given.size < 2 && calls.is_a?(Hash)

      { **calls, **named }.each do |name, entry|
        next if Arguments.name_of(entry).is_a?(String) || (entry.is_a?(Array) && entry.size.between?(1, 4))

        raise InvalidArgs, "gather: #{name} must be a call, not #{entry.inspect[0, 80]}: #{EXAMPLE}. Its options are timeout and queue."
      end.transform_values { |entry| read(entry, timeout, queue) }
    end

    # One entry as what #submit takes. +timeout+ and +queue+ are for one that names none of its own.
    def self.read(entry, timeout, queue)
      task, args, own, place = *entry
      [task, args.nil? && Array(entry).size < 2 ? {} : args, { timeout: own || timeout, queue: place || queue }]
    end
  end
end
