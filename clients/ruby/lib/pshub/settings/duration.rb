# frozen_string_literal: true

require_relative "../wire/errors"

module Pshub
  # Times as people type them.
  module Duration
    UNIT_S = { "ms" => 0.001, "s" => 1.0, "m" => 60.0, "h" => 3600.0, "d" => 86_400.0 }.freeze

    # Seconds: a bare number of them, or +500ms+, +2s+, +1.5m+, +1h+, +1d+. Raises ConfigError that names +what+ it was for.
    def self.parse(text, what)
      match = /\A([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)?\z/.match(text.strip)
      return (match[1].to_f * UNIT_S.fetch(match[2] || "s")).round(3) if match

      raise ConfigError, "#{what} must be a duration like 500ms, 2s, 1m, 1h or 1d (a bare number is seconds), not '#{text}'."
    end
  end
end
