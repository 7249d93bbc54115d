# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "progress_listener"
require_relative "stream"

module Pshub
  # What a Dispatch does for what comes before a reply.
  module StreamHost
    # Starts one whose chunks are read; see Stream.
    def stream(called, args, timeout_s, trace, queue, idle, on_progress)
      stream = Stream.new(called, self, idle, progress_listener(on_progress))
      @streams.add(stream)
      submit(called, args, timeout_s, trace, queue) { |call| (stream.call = call).listener = stream }
      stream
    end

    # nil where nobody wants to know.
    def progress_listener(on_progress) = on_progress && ProgressListener.new(on_progress, @events)
    def stream_taken(stream) = @streams.taken(stream)
    def stream_ended(stream) = @streams.ended(stream)
    def stream_problem(error) = @events.emit("problem", where: "stream", reason: Errors.message_of(error))
  end
end
