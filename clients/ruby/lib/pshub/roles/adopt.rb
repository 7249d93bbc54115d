# frozen_string_literal: true

module Pshub
  module Roles
    # Takes over what lost workers held. An idempotent call that still has time goes back to the head of the list, and so does a
    # job; any other call is answered WorkerLost at once, instead of keeping its caller waiting until the deadline.
    class Adopt
      # After an interruption of its own a worker adopts nothing for a while: when Redis was away every lease has ended, and the
      # others must have time to renew theirs.
      GRACE_S = 2.0
      INTERRUPTION_S = 1.8
      # A request whose workers died this often is not given to another one.
      MAX_LOSSES = 3

      # +crew+ is asked for #worker_id, #idempotent? and #decode_adopted, and told #settle and #lost.
      def initialize(crew, queue, connection, slots)
        @crew = crew
        @queue = queue
        @connection = connection
        @slots = slots
        @last_beat_at = Clock.now
        @not_before = @last_beat_at + GRACE_S
      end

      # Called with each beat, before #adopt_from.
      def note_beat
        now = Clock.now
        @not_before = now + GRACE_S if now - @last_beat_at > INTERRUPTION_S
        @last_beat_at = now
      end

      # +ended+ are workers whose leases have ended.
      def adopt_from(ended, now_us)
        return if Clock.now < @not_before

        ended.each { |lost| adopt(lost, now_us) }
      end

      # Decides about requests taken over, as pairs of held id and text; also about those whose adoption was not answered, when
      # reconcile finds them.
      def redirect(requests, worker_id, now_us)
        mine = requests.select { |id, _| @slots.know(id) }
        again = mine.filter_map { |id, text| (new_text = redirected(id, text, worker_id, now_us)) && [id, new_text] }
        return if again.empty?

        begin
          @queue.handback(@connection, worker_id, "head", again)
        ensure
          # Did it fail, reconcile finds them again.
          @slots.forget(again.map(&:first))
        end
      end

      # The request with its count of lost workers, spliced in as text: its payload is never encoded anew.
      def self.with_losses(text, losses)
        bare = text.rstrip.sub(/,"losses":[0-9]+\}\z/, "}").delete_suffix("}")
        %(#{bare},"losses":#{losses}})
      end

      private

      def adopt(lost, now_us)
        loop do
          worker_id = @crew.worker_id
          done, requests = @queue.adopt(@connection, lost, worker_id)
          return if requests.nil? || worker_id != @crew.worker_id

          redirect(requests, worker_id, now_us)
          @crew.lost(lost, requests.size, worker_id)
          return if done
        end
      end

      # The text to put back; nil when it is settled here.
      def redirected(id, text, worker_id, now_us)
        request = @crew.decode_adopted(text, id)
        return settle(id, worker_id) if request.nil? || expired?(request, now_us)

        losses = request.losses + 1
        job = id.start_with?("lost:job:")
        if losses < MAX_LOSSES && (job || @crew.idempotent?(request.task))
          return Adopt.with_losses(request.text, losses)
        end

        job ? bury(id, worker_id, text, now_us) : refuse(id, worker_id, request, losses)
      end

      def expired?(request, now_us)
        request.ttl_ms.positive? && request.at_us && now_us - request.at_us >= request.ttl_ms * 1000
      end

      def refuse(id, worker_id, request, losses)
        often = losses > 1 ? "#{losses} workers that ran #{request.task} died" : "The worker that ran #{request.task} died"
        error = { "code" => "WorkerLost", "message" => "#{often}; it may have been run.", "retryable" => false }
        settle(id, worker_id, request.hub_id, Message.error_reply(request.id, Payload.compact(error), worker_id))
      end

      # Kept before it is released: a crash in between keeps it twice under one text, which is once.
      def bury(id, worker_id, text, now_us)
        @queue.bury(@connection, now_us, text)
        settle(id, worker_id)
      end

      def settle(id, worker_id, hub_id = nil, reply = nil)
        @crew.settle(Settlement.new(id, worker_id, hub_id, reply))
        nil
      end
    end
  end
end
