# frozen_string_literal: true

module Pshub
  module Roles
    # Follows whether the queue is paused, from beat to beat: asking with each claim would cost every call a command.
    class Pause
      # +crew+ is asked for #worker_id; +fetch+ is told to #pause +served+, a ServedQueue, with each beat of a pause, and to #resume it.
      def initialize(crew, served, fetch, events)
        @crew = crew
        @served = served
        @fetch = fetch
        @events = events
        @paused = false
      end

      def beaten(beat)
        was_paused = @paused
        @paused = !beat.paused_ms.nil?
        if @paused
          @fetch.pause(@served)
          tell("queue:paused", paused_ms: beat.paused_ms) unless was_paused
        elsif was_paused
          @fetch.resume(@served)
          tell("queue:resumed")
        end
      end

      private

      def tell(name, **more) = @events.emit(name, worker: @crew.worker_id, queue: @served.name, **more)
    end
  end
end
