# frozen_string_literal: true

require_relative "../redis/connection"

module Pshub
  # How much there is of calls and jobs in one place.
  module WorkLeft
    DAY_MS = 86_400_000

    # What waits, to be taken, for its time, for its next try or behind others of its key; and what workers hold, lost ones too. +keys+ are
    # those of the place.
    def self.count(connection, keys)
      workers = connection.one("ZRANGEBYSCORE", keys.leases, "-inf", connection.now_ms + DAY_MS)
      lists = [keys.calls, keys.jobs, keys.jobs_high, keys.jobs_low].map { |key| ["LLEN", key] }
      sets = [keys.scheduled, keys.retries, keys.later].map { |key| ["ZCARD", key] }
      holdings = workers.map { |worker| ["HLEN", keys.held(worker)] }
      *counts, of_keys = Connection.checked(connection.run(*lists, *sets, *holdings, ["HVALS", keys.lined]))
      counts.sum + of_keys.sum { |count| [0, count.to_i].max }
    end
  end
end
