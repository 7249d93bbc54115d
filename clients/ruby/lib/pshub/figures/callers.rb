# frozen_string_literal: true

module Pshub
  # Who calls one task: calls by calling service since the start, "" where a request names none. Where all names are taken, a
  # service that no window of the last minute knows makes room for a new one: its calls are among the others from then on.
  # PROTOCOL.md, section 11.1.
  class Callers
    # So many services that call a task are counted by name.
    MAX_CALLERS = 20
    # All others together. A service that calls itself so is counted among them, so that nobody can have this name.
    OTHERS = "*"

    attr_reader :totals

    def initialize
      @totals = Hash.new(0)
      # The slice in which there was no room; until it ends there will be none.
      @full_in = nil
    end

    # One call more. +windows+ are the counts of the last minute, of which the last is that of the present slice +number+.
    def count(name, number, windows)
      name = room_for(name, number, windows) unless @totals.key?(name)
      @totals[name] += 1
      windows.last[name] += 1
    end

    private

    def room_for(name, number, windows)
      return OTHERS if name == OTHERS || @full_in == number

      named = @totals.keys - [OTHERS]
      return name if named.size < MAX_CALLERS

      quiet = named.find { |each| windows.none? { |window| window.key?(each) } }
      if quiet
        @totals[OTHERS] += @totals.delete(quiet)
        return name
      end
      @full_in = number
      OTHERS
    end
  end
end
