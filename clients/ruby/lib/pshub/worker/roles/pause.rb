# frozen_string_literal: true

module Pshub
  module Roles
    # Follows whether the queue is paused, from beat to beat: asking with each claim would cost every call a command.
    class Pause
      # +crew+ is asked for #worker_id; +fetch+ is told to #pause, with each beat of a pause, and to #resume.
      def initialize(crew, queue_name, fetch, events)
        @crew = crew
        @queue_name = queue_name
        @fetch = fetch
        @events = events
        @paused = false
      end

      def beaten(beat)
        was_paused = @paused
        @paused = !beat.paused_ms.nil?
        if @paused
          @fetch.pause
          tell("queue:paused", paused_ms: beat.paused_ms) unless was_paused
        elsif was_paused
          @fetch.resume
          tell("queue:resumed")
        end
      end

      private

      def tell(name, **more) = @events.emit(name, worker: @crew.worker_id, queue: @queue_name, **more)
    end
  end
end
