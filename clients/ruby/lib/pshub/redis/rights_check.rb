# frozen_string_literal: true

require_relative "failures"
require_relative "library"

module Pshub
  # What a Redis user may not do of what a caller or a worker needs.
  module RightsCheck
    # What pshub does without: the name of a connection, looking whether the server is fit and has loaded its data, and ending a
    # wait early when the queue was paused.
    DISPENSABLE = %w[INFO CLIENT|SETNAME CLIENT|INFO CLIENT|KILL CLIENT|ID CLIENT|UNBLOCK WAIT].freeze

    # What the connected user lacks for :hub or :worker, as text; nil when it may do everything. Raises ReplyError.
    def self.missing(connection, role, keys, queue)
      answer = Library.run(connection, "denied", [], [role, keys.namespace, queue])
      denied = answer.each_slice(2).reject { |command, key| DISPENSABLE.include?(command) || (!connection.spread? && of_clusters?(command, key)) }
      return nil if denied.empty?

      denied.group_by(&:last).map { |key, rows| [*rows.map(&:first), *("on #{key}" unless key.empty?)].join(" ") }.join(", ")
    rescue ReplyError => e
      raise unless e.code == "NOPERM"

      "FCALL"
    end

    # Needed on a Cluster alone.
    def self.of_clusters?(command, key) = command == "CLUSTER|SLOTS" || key.end_with?("}:moving")
  end
end
