# frozen_string_literal: true

require_relative "refusals"
require_relative "target"

module Pshub
  # Follows the connection that carries commands, for a sentence that says why it is away and what to do about it.
  class Away
    def self.text(target, reason)
      how = Refusals.about_rights?(reason) ? "denies access" : "could not be reached"
      "Redis at #{Target.describe(target)} #{how}: #{Refusals.explained(reason)}; set --redis or PSHUB_REDIS."
    end

    def initialize(events, target)
      @target = target
      @reason = "no answer in time"
      events.on("redis:up") { |event| @reason = nil if commands?(event) }
      events.on("redis:down") { |event| @reason = event[:reason] if commands?(event) }
    end

    # nil while it is up.
    def text = @reason && Away.text(@target, @reason)

    private

    def commands?(event) = event[:role].match?(/ commands( |\z)/)
  end
end
