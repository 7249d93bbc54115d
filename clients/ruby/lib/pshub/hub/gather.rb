# frozen_string_literal: true

module Pshub
  # How one entry of a gather ended: with +value+, or with +error+; +ms+ is its own wait.
  Outcome = Struct.new(:ok, :value, :error, :ms, keyword_init: true) do
    alias_method :ok?, :ok
  end

  # Many calls at once.
  module Gather
    # One entry as what #submit takes. +timeout+ and +queue+ are for one that names none of its own.
    def self.read(entry, timeout, queue)
      task, args, own, place = *entry
      [task, args.nil? && Array(entry).size < 2 ? {} : args, { timeout: own || timeout, queue: place || queue }]
    end
  end
end
