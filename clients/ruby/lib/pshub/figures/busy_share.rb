# frozen_string_literal: true

require "etc"
require_relative "../wire/clock"

module Pshub
  # What share of its slots' time a worker used in the last minute.
  class BusyShare
    MEMORY_S = 60.0

    def initialize(slots)
      @slots = slots
      @looks = [[Clock.now, 0.0]]
    end

    # 0 to 1. +used_s+ is the time used since the start, all slots together.
    def look(used_s)
      now = Clock.now
      @looks << [now, used_s]
      @looks.shift while @looks.size > 2 && now - @looks[1][0] >= MEMORY_S
      since, before = @looks.first
      all_s = (now - since) * @slots
      all_s.positive? ? ((used_s - before) / all_s).clamp(0.0, 1.0).round(3) : 0.0
    end

    # This process's memory, where the system tells.
    def self.rss_bytes
      File.read("/proc/self/statm").split[1].to_i * Etc.sysconf(Etc::SC_PAGESIZE)
    rescue SystemCallError
      nil
    end
  end
end
