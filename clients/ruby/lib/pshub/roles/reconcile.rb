# frozen_string_literal: true

module Pshub
  module Roles
    # Finds claims whose answers were lost on the wire. They would stay for ever: a live worker's lease never ends, so nobody
    # adopts from it. An id counts as lost when two looks in a row found it unknown, because at a single look its claim may just
    # be on its way here.
    class Reconcile
      # +crew+ is asked for #worker_id and told #found: held ids and texts that this worker holds without knowing of them, from
      # before that Redis time.
      def initialize(crew, queue, connection, slots)
        @crew = crew
        @queue = queue
        @connection = connection
        @slots = slots
        @suspects = []
      end

      # +now_us+ is the time of the beat that this look belongs to.
      def look(now_us)
        worker_id = @crew.worker_id
        unknown = @queue.held_ids(@connection, worker_id).reject { |id| @slots.knows?(id) }
        lost = unknown & @suspects
        @suspects = unknown
        return if lost.empty? || worker_id != @crew.worker_id

        texts = @queue.held_texts(@connection, worker_id, lost)
        found = lost.zip(texts).select { |id, text| text && !@slots.knows?(id) }
        @crew.found(found, worker_id, now_us) unless found.empty? || worker_id != @crew.worker_id
      end
    end
  end
end
