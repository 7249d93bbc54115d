# frozen_string_literal: true

require_relative "../../redis/connection"
require_relative "../../redis/failures"
require_relative "../../redis/library"
require_relative "../../wire/clock"
require_relative "../../wire/errors"
require_relative "../../wire/streams"
require_relative "../held"
require_relative "../open_stream"
require_relative "../patience"

module Pshub
  module Roles
    # What callers hear of what runs before its reply: chunks, and progress. PROTOCOL.md, section 9.10.
    class Hearing
      # It is written so often at the most, however often a handler says it.
      EVERY_S = 0.25
      # What is written of a job is there for so long, and is written again every AGAIN_S while it runs.
      KEPT_MS = 60_000
      AGAIN_S = 20.0

      # How far a run was said to be; +fresh+: that was not written yet.
      Told = Struct.new(:request, :latest, :fresh, :written_at)

      # The way of one stream to Redis.
      class Way
        def initialize(crew, queue, connection, request, context)
          @crew = crew
          @queue = queue
          @connection = connection
          @request = request
          @context = context
          @worker_id = crew.worker_id
        end

        # Tries until that is done; false where it is refused for good, or others own it by now, or its time is up.
        def push(texts)
          command = @queue.reply_command(@request.hub_id, texts)
          tries = 0
          until @worker_id != @crew.worker_id || (@context.cancelled? && !@context.remaining.positive?)
            begin
              @crew.beat_now unless @crew.lease_certain?
              Connection.checked(Library.send_all(@connection, command))
              return true
            rescue *Connection::PROBLEMS => e
              return refused(e) if e.is_a?(ReplyError) && !e.passing? && !e.full? && !e.no_function?
            end
            @context.wait(Patience.pause(tries)) || sleep(0.02)
            tries += 1
          end
          false
        end

        def taken = @queue.taken(@connection, @request.hub_id, @request.id)
        def gone = @crew.abort_run(@request.held_id, Aborted.new("Nobody reads this stream any more: its caller is gone."))

        private

        def refused(error)
          @crew.problem("stream", error)
          false
        end
      end

      # +crew+ is asked for #worker_id, #lease_certain? and #beat_now, told of each #problem, and to #abort_run.
      def initialize(crew, queue, job_queue, connection, replies)
        @crew = crew
        @queue = queue
        @job_queue = job_queue
        @connection = connection
        @replies = replies
        @lock = Mutex.new
        @changed = Clock.condition
        @told = {}
      end

      # The stream that a request asks for, on the thread of its handler.
      def open(request, context) = OpenStream.new(request, context, Way.new(@crew, @queue, @replies, request, context))

      # A handler says how far it is.
      def tell(request, context, progress)
        return unless Held.job?(request.held_id) || request.asked&.progress

        @lock.synchronize do
          return if context.over

          told = @told[request.held_id] ||= Told.new(request, nil, false, -Float::INFINITY)
          told.latest = progress
          told.fresh = true
          @thread ||= Thread.new { serve }
          @changed.broadcast
        end
      end

      # A run has ended: its reply, or its job's record, says more.
      def finish(request)
        told = @lock.synchronize { @told.delete(request.held_id) }
        return unless told && Held.job?(request.held_id)

        # Where that fails it goes by itself.
        tried { @job_queue.forget_progress(@connection, request.id) }
      end

      def stop
        @lock.synchronize do
          @stopped = true
          @changed.broadcast
        end
        @thread&.join
      end

      private

      def serve
        until @stopped
          due = @lock.synchronize do
            @changed.wait(@lock, patience) if !@stopped && due_now.empty?
            due_now.map { |told| told.dup.tap { written(told) } }
          end
          due.each { |told| write(told) }
        end
      end

      def due_at(told)
        return told.written_at + EVERY_S if told.fresh

        Held.job?(told.request.held_id) ? told.written_at + AGAIN_S : Float::INFINITY
      end

      def due_now = @told.values.select { |told| due_at(told) <= Clock.now }

      def patience
        first = @told.values.map { |told| due_at(told) }.min
        first&.finite? ? [first - Clock.now, 0.001].max : nil
      end

      def written(told)
        told.fresh = false
        told.written_at = Clock.now
      end

      # One that is lost is made up for by the next.
      def write(told)
        request = told.request
        tried do
          if Held.job?(request.held_id)
            @job_queue.tell_progress(@connection, request.id, told.latest.json, KEPT_MS)
          else
            text = Streams.progress(request.id, told.latest)
            Connection.checked(Library.send_all(@replies, @queue.reply_command(request.hub_id, [text])))
          end
        end
      end

      def tried
        yield
      rescue *Connection::PROBLEMS => e
        @crew.problem("progress", e) if e.is_a?(ReplyError)
      end
    end
  end
end
