# frozen_string_literal: true

module Pshub
  # Microseconds. +backlog+ is on Redis' clock, the others on the worker's.
  Phases = Struct.new(:backlog, :queue, :exec) do
    # nil unless all three are numbers of at least 0: it was written by others.
    def self.read(value)
      return nil unless value.is_a?(Hash)

      numbers = value.values_at("backlog", "queue", "exec")
      new(*numbers.map(&:to_i)) if numbers.all? { |n| n.is_a?(Numeric) && n >= 0 && n.to_f.finite? }
    end

    def json = %("us":{"backlog":#{backlog},"queue":#{queue},"exec":#{exec}})
  end
end
