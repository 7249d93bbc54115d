# frozen_string_literal: true

require_relative "../queue/batches"
require_relative "../queue/numbered"
require_relative "../redis/connections"
require_relative "../redis/failures"
require_relative "../redis/refusals"
require_relative "../wire/clock"
require_relative "../wire/errors"

module Pshub
  # Jobs of one hub for one queue, on a thread of its own. As with calls, one batch is under way at a time, under a number, and what
  # comes meanwhile goes with the next one; so only the last batch can be in doubt, and it is repeated until Redis says what became of it.
  class JobOutbox
    DOUBT = "The connection broke while the job was sent, and Redis can no longer tell whether it arrived."

    # A replica that is there answers within milliseconds; one that is away must not hold up what comes behind for longer.
    REPLICA_MS = 1000
    UNREPLICATED = "The job is in Redis, but no replica confirmed it within #{REPLICA_MS} ms. If the master fails before a replica has it, the job is lost."

    CARRIES = /\A"ttl":\d+,"id":"[\w-]+","job":/
    private_constant :CARRIES

    # What a job counts for in a write. One that carries more than its arguments takes Redis some 30 us, another one 4: a hundred of
    # these are 3 ms in which it does nothing else.
    def self.weight_of(message) = message.bytesize + (CARRIES.match?(message) ? Batches::MAX_BYTES / 100 : 0)

    # Jobs that are acknowledged together. +twins+ are those, by place, that are there already, once it is settled; else +error+.
    Parcel = Struct.new(:messages, :weight, :settled, :in_doubt, :setback, :twins, :error)

    # +durable+: they are acknowledged when a replica has them, too.
    def initialize(connection, queue, hub_id, closing, durable: false)
      @connection = connection
      @queue = queue
      @hub_id = hub_id
      @closing = closing
      @durable = durable
      @lock = Mutex.new
      @changed = Clock.condition
      @waiting = []
      @number = 0
    end

    def start = @thread = Thread.new { serve }

    # True when something was sent, so that there is a number in Redis to clean up.
    def used? = @number.positive?

    # Enqueues jobs, all of them or none: at most 256, and about 1 MB. Returns when they are in Redis, with those, by place, that are not
    # because another one of their uniqueness is there. Raises NotEnqueued, OutcomeUnknown, HubClosed.
    def enqueue(messages, timeout_s)
      parcel = Parcel.new(messages, messages.sum { |message| JobOutbox.weight_of(message) })
      @lock.synchronize do
        raise HubClosed if @closing.set?

        @waiting << parcel
        @changed.broadcast
        finish = Clock.now + timeout_s
        until parcel.settled || (left = finish - Clock.now) <= 0
          @changed.wait(@lock, left)
        end
        refuse_late(parcel) unless parcel.settled
      end
      raise parcel.error if parcel.error

      parcel.twins
    end

    # Once +closing+ is set: nobody will hear of what is not answered by now.
    def stop
      @lock.synchronize do
        @waiting.each { |parcel| refuse(parcel, closed(parcel)) }
        @changed.broadcast
      end
      @thread&.join(Connections::STALL_S + 1)
    end

    private

    def serve
      until @closing.set?
        batch = next_batch
        deliver(batch) unless batch.empty?
      end
      # What came in the last moment.
      @lock.synchronize { @waiting.each { |parcel| refuse(parcel, closed(parcel)) } }
    end

    def next_batch
      @lock.synchronize { @changed.wait(@lock) until @waiting.any? || @closing.set? }
      return [] unless @connection.wait_ready(@closing)

      @lock.synchronize do
        batch = part_of(@waiting)
        @waiting.shift(batch.size)
        batch.reject(&:settled)
      end
    end

    # As many as fit into one write; a parcel stays whole.
    def part_of(parcels)
      count = weight = 0
      parcels.take_while do |parcel|
        fits = count.zero? || (count + parcel.messages.size <= Batches::MOST && weight + parcel.weight <= Batches::MAX_BYTES)
        count += parcel.messages.size
        weight += parcel.weight
        fits
      end
    end

    def deliver(parcels)
      number = @number += 1
      prepare = lambda do |lost|
        parcels = parcels.reject(&:settled) unless lost
        messages = parcels.flat_map(&:messages)
        -> { send_now(parcels, number, messages) } unless parcels.all?(&:settled)
      end
      on_setback = ->(error, lost) { mark(parcels, lost, Errors.message_of(error)) }
      kind, told = Numbered.deliver(@connection, @closing, prepare: prepare, on_setback: on_setback)
      @lock.synchronize { conclude(parcels, kind, told) }
    end

    # What was answered; :unreplicated where no replica has it.
    def send_now(parcels, number, messages)
      answer = @queue.enqueue(@connection, @hub_id, number, messages) { mark(parcels, true) }
      !@durable || replicated? ? answer : :unreplicated
    end

    def replicated?
      @queue.replicas_of(@connection, @hub_id, REPLICA_MS).positive?
    rescue ReplyError => e
      # It is there, whatever refuses to tell of replicas; what passes is asked once more.
      raise ConnectionLost, e.message if e.passing?

      false
    end

    def mark(parcels, in_doubt, setback = nil)
      @lock.synchronize do
        parcels.each do |parcel|
          parcel.in_doubt = in_doubt
          parcel.setback = setback if setback
        end
      end
    end

    def conclude(parcels, kind, told)
      first = 0
      parcels.each do |parcel|
        case kind
        when :answer then told == :unreplicated ? refuse(parcel, OutcomeUnknown.new(UNREPLICATED)) : accept(parcel, told.twins, first)
        when :refused then refuse(parcel, NotEnqueued.new("Redis refused the job: #{Refusals.explained(Errors.message_of(told))}."))
        when :unknown then refuse(parcel, OutcomeUnknown.new(DOUBT))
        else refuse(parcel, closed(parcel))
        end
        first += parcel.messages.size
      end
    end

    def accept(parcel, twins, first)
      parcel.twins = twins.filter_map { |place, id| [place - first, id] if place.between?(first, first + parcel.messages.size - 1) }.to_h
      settle(parcel)
    end

    def refuse(parcel, error)
      return if parcel.settled

      parcel.error = error
      settle(parcel)
    end

    def settle(parcel)
      parcel.settled = true
      @changed.broadcast
    end

    def refuse_late(parcel)
      return refuse(parcel, OutcomeUnknown.new("Redis did not confirm the job in time; it may have been enqueued.")) if parcel.in_doubt

      reason = Refusals.explained(parcel.setback || @connection.down_reason || "it did not answer")
      refuse(parcel, NotEnqueued.new("Redis did not accept the job in time: #{reason}."))
      @waiting.delete_if { |each| each.equal?(parcel) }
    end

    def closed(parcel) = parcel.in_doubt ? OutcomeUnknown.new(DOUBT) : HubClosed.new
  end
end
