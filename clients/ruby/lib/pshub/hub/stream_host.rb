# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "stream"

module Pshub
  # What a Dispatch does for streams.
  module StreamHost
    # Starts one whose chunks are read; see Stream.
    def stream(called, args, timeout_s, trace, queue, idle, on_progress)
      stream = Stream.new(called, self, idle, on_progress)
      @streams.add(stream)
      submit(called, args, timeout_s, trace, queue) { |call| (stream.call = call).stream = stream }
      stream
    end

    def stream_taken(stream) = @streams.taken(stream)
    def stream_ended(stream) = @streams.ended(stream)
    def stream_problem(error) = @events.emit("problem", where: "stream", reason: Errors.message_of(error))
  end
end
