# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "../wire/streams"

module Pshub
  # Hears how far the handler of a call is, for the one who asked for that. One that raises hurts nobody: it is told of as a problem.
  class ProgressListener
    ASKED = Asked.new(0, true)

    def initialize(on_progress, events)
      @on_progress = on_progress
      @events = events
    end

    def asked = ASKED

    # Something came before the reply.
    def part(part)
      @on_progress.call(part["progress"]) if part.key?("progress")
    rescue StandardError => e
      @events.emit("problem", where: "on_progress", reason: Errors.message_of(e))
    end

    # The call has ended, which its caller hears by itself.
    def settled(*) = nil
  end
end
