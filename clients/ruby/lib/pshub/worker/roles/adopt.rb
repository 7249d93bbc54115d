# frozen_string_literal: true

require_relative "../../redis/connection"
require_relative "../../wire/clock"
require_relative "../../wire/message"
require_relative "../held"

module Pshub
  module Roles
    # Takes over what lost workers held. An idempotent call that still has time goes back to the head of the list, and so does a
    # job; any other call is answered WorkerLost at once, instead of keeping its caller waiting until the deadline. What its
    # workers died of, again and again, ends here: a call is answered, a job is kept with the dead ones.
    class Adopt
      # After an interruption of its own a worker adopts nothing for this long, and after a step of Redis' clock: every lease has
      # ended then, and the others must have time to renew theirs.
      GRACE_S = 2.0
      INTERRUPTION_S = 1.8
      # A request whose workers died this often is not given to another one.
      MAX_LOSSES = 3

      # +crew+ is asked for #worker_id, #idempotent? and #decode_adopted, and told #settle, #lost, #redelivered, #dead, #problem.
      def initialize(crew, queue, connection, slots, clock)
        @crew = crew
        @queue = queue
        @connection = connection
        @slots = slots
        @clock = clock
        @last_beat_at = Clock.now
        @not_before = @last_beat_at + GRACE_S
      end

      # Called with each beat, before #adopt_from.
      def note_beat
        now = Clock.now
        @not_before = now + GRACE_S if now - @last_beat_at > INTERRUPTION_S
        @not_before = [@not_before, @clock.stepped_at + GRACE_S].max
        @last_beat_at = now
      end

      # +ended+ are workers whose leases have ended.
      def adopt_from(ended, now_us)
        return if Clock.now < @not_before

        ended.each do |lost|
          adopt(lost, now_us)
        rescue *Connection::PROBLEMS => e
          # Those behind it are not to wait for what is wrong with this one.
          @crew.problem("adopt", e) if e.is_a?(ReplyError)
        end
      end

      # Decides about requests taken over, as pairs of held id and text; also about those whose adoption was not answered, when
      # reconcile finds them.
      def redirect(requests, worker_id, now_us)
        mine = requests.select { |id, _| @slots.know(id) }
        again = mine.filter_map { |id, text| redirected(id, text, worker_id, now_us) }
        return if again.empty?

        begin
          @queue.handback(@connection, worker_id, "head", again.map { |id, request, losses| [id, Message.with_losses(request.text, losses)] })
          again.each { |_, request, losses| @crew.redelivered(request, losses) }
        ensure
          # Did it fail, reconcile finds them again.
          @slots.forget(again.map(&:first))
        end
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

      # The id, the request and how many workers died with it, when it is to go back; nil when it is settled here.
      def redirected(id, text, worker_id, now_us)
        request = @crew.decode_adopted(text, id)
        return settle(id, worker_id) if request.nil? || request.over?(now_us)

        losses = request.losses + 1
        job = Held.lost_job?(id)
        return [id, request, losses] if losses < MAX_LOSSES && (job || @crew.idempotent?(request.task))

        often = losses > 1 ? "#{losses} workers that ran #{request.task} died" : "The worker that ran #{request.task} died"
        job ? bury(id, worker_id, request, losses, often) : refuse(id, worker_id, request, often)
      end

      def refuse(id, worker_id, request, often)
        error = { "code" => "WorkerLost", "message" => "#{often}; it may have been run.", "retryable" => false }
        settle(id, worker_id, hub_id: request.hub_id, reply: Message.error_reply(request, error, worker_id))
      end

      # A crash before it is released keeps it twice under one text, which is once.
      def bury(id, worker_id, request, losses, reason)
        @crew.dead(request, reason)
        settle(id, worker_id, dead: Message.with_losses(request.text, losses))
      end

      def settle(id, worker_id, **more)
        @crew.settle(Settlement.new(id: id, worker_id: worker_id, **more))
        nil
      end
    end
  end
end
