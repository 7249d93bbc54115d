# frozen_string_literal: true

require_relative "../../redis/connection"
require_relative "../../redis/failures"
require_relative "../../redis/library"
require_relative "../../wire/clock"
require_relative "../../wire/message"
require_relative "../held"

module Pshub
  module Roles
    # Takes over what lost workers held. An idempotent call that still has time goes back to the head of the list, and so does a
    # job; any other call is answered WorkerLost at once, instead of keeping its caller waiting until the deadline. What its
    # workers died of, again and again, ends: a call is answered, a job is kept with the dead ones. All of that is decided in Redis;
    # what is left to a worker is to answer, and to tell.
    class Adopt
      # After an interruption of its own a worker adopts nothing for this long, and after a step of Redis' clock: every lease has
      # ended then, and the others must have time to renew theirs.
      GRACE_S = 2.0
      INTERRUPTION_S = 1.8

      # +crew+ is asked for #worker_id, and told #settle, #forward and #problem.
      def initialize(crew, keys, queue, connection, slots, clock, events)
        @crew = crew
        @keys = keys
        @queue = queue
        @connection = connection
        @slots = slots
        @clock = clock
        @events = events
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
      def adopt_from(ended)
        return if Clock.now < @not_before

        ended.each do |lost|
          adopt(lost)
        rescue *Connection::PROBLEMS => e
          # Those behind it are not to wait for what is wrong with this one.
          @crew.problem("adopt", e) if e.is_a?(ReplyError)
        end
      end

      # Answers calls taken over, as pairs of held id and text; also those whose adoption was not answered, when reconcile finds
      # them.
      def answer(requests, worker_id)
        requests.each do |id, text|
          next unless @slots.know(id)

          request = decode(id, text)
          # Nobody can be told of what is no request.
          reply = request && Message.error_reply(request, lost_error(request), worker_id)
          @crew.settle(Settlement.new(id: id, worker_id: worker_id, hub_id: request&.hub_id, reply: reply))
        end
      end

      private

      def adopt(lost)
        loop do
          worker_id = @crew.worker_id
          adopted = @queue.adopt(@connection, lost, worker_id)
          return if adopted.nil? || worker_id != @crew.worker_id

          answer(adopted.to_answer, worker_id)
          @crew.forward(adopted.outs, worker_id)
          tell("request:redelivered", adopted.redelivered) { |request| { losses: request.losses } }
          tell("job:dead", adopted.dead) { |request| { reason: reason_of(request) } }
          tell_waiting(adopted, worker_id)
          count = [adopted.to_answer, adopted.redelivered, adopted.dead].sum(&:size)
          @events.emit("worker:lost", worker: lost, queue: @queue.name, adopted: count, by: worker_id)
          return if adopted.done
        end
      end

      def tell(event, requests)
        requests.filter_map { |id, text| decode(id, text) }.each do |request|
          @events.emit(event, queue: @queue.name, task: request.task, id: request.id, **yield(request))
        end
      end

      # Those who wait for a job that is dead now. They look again by themselves where this does not arrive.
      def tell_waiting(adopted, worker_id)
        texts = adopted.dead.to_h
        replies = adopted.told.filter_map do |id, ticket, hub_id|
          request = texts.key?(id) && decode(id, texts[id]) or next
          lost = request.dup.tap { |answered| answered.id = ticket }
          @queue.reply_command(hub_id, [Message.error_reply(lost, lost_error(request), worker_id)])
        end
        Library.send_all(@connection.apart, *replies) if replies.any?
      end

      # nil for what is no request.
      def decode(id, text)
        Message.decode_request(text, Held.plain_id(id), @keys)
      rescue Message::Malformed
        nil
      end

      def reason_of(request)
        return "The worker that ran #{request.task} crashed or lost its lease" unless request.losses > 1

        "#{request.losses} workers that ran #{request.task} crashed or lost their lease"
      end

      def lost_error(request)
        { "code" => "WorkerLost", "message" => "#{reason_of(request)}.", "retryable" => false }
      end
    end
  end
end
