# frozen_string_literal: true

require_relative "../queue/batches"
require_relative "../queue/numbered"
require_relative "../redis/connection"
require_relative "../redis/connections"
require_relative "../redis/refusals"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/message"
require_relative "forecast"

module Pshub
  # Where a message is in the list, as far as that is known; +ttl_ms+ 0: its exact text is not.
  InList = Struct.new(:at, :ttl_ms, :ahead)

  # Requests of one hub for one queue, on their way into its list, on a thread of their own. One push is under way at a time and
  # what is called meanwhile goes with the next, so batches grow with the load by themselves, and only the last push can ever be
  # in doubt: when its answer is lost it is repeated under the same number, before anything new, and Redis knows whether it
  # had arrived.
  class Outbox
    # Taken off each ttl: a push that is on its way for longer has its time taken off there.
    WAY_MS = 2
    # So long a hub that is closed takes back what it sent.
    TAKE_BACK_S = 1.0
    # Without an answer for this long nothing counts as being sent.
    SENDING_S = 0.5

    # +in_flight+: calls whose answers are awaited, or that wait here to be sent.
    attr_reader :forecast, :in_flight
    # Longest list that is pushed to, whatever a call could wait for.
    attr_accessor :max_length

    # +host+ is told how attempts fare: #doubt, #undoubt, #enqueued, #refuse.
    def initialize(host, connection, queue, clock, events, closing)
      @host = host
      @connection = connection
      @queue = queue
      @clock = clock
      @events = events
      @closing = closing
      @forecast = Forecast.new
      @max_length = 0
      @lock = Mutex.new
      @changed = Clock.condition
      # In their order; what has settled is not kept, however long Redis is away.
      @waiting = {}.compare_by_identity
      @in_flight = 0
      @cancels = []
      @number = 0
      @answered_at = -Float::INFINITY
    end

    def start = @thread = Thread.new { serve }

    # True when there is a push number in Redis to clean up.
    def used? = @number.positive?

    # True while pushes are answered, so that what waits here has its turn soon.
    def sending? = Clock.now - @answered_at < SENDING_S

    def down? = !@connection.down_reason.nil?

    def add(attempt)
      @lock.synchronize do
        @in_flight += 1
        @waiting[attempt] = true
        @changed.signal
      end
    end

    # It has settled.
    def drop(attempt)
      @lock.synchronize do
        @in_flight -= 1
        @waiting.delete(attempt)
      end
    end

    # What its end tells of how long the list takes.
    def learn(attempt, phases, error)
      ahead = attempt.pushed&.ahead or return
      if phases
        @forecast.learn(ahead, phases.backlog / 1e6, (phases.queue + phases.exec) / 1e6)
      elsif error.is_a?(Timeout)
        @forecast.miss(ahead, attempt.finish - attempt.call.started_at)
      end
    end

    # The caller gave up: takes the request out of the list, or has its worker told. Does nothing for one whose push is under way;
    # that is cancelled once it is known to have arrived.
    def cancel(attempt)
      return unless attempt.pushed

      @lock.synchronize do
        @cancels << attempt
        @changed.signal
      end
    end

    def stop
      @lock.synchronize { @changed.broadcast }
      @thread&.join(Connections::STALL_S + 1)
    end

    private

    def serve
      until @closing.set?
        wait_for_work
        @lock.synchronize { @cancels.shift(Batches::MOST) }.each { |attempt| send_cancel(attempt) }
        next unless @lock.synchronize { due? } && @connection.wait_ready(@closing)

        batch = next_batch
        deliver(batch) unless batch.empty?
      end
      take_back
    end

    # Of a hub that is closed: what its callers gave up by that.
    def take_back
      last_at = Clock.now + TAKE_BACK_S
      while @connection.ready? && Clock.now < last_at && (attempt = @lock.synchronize { @cancels.shift })
        send_cancel(attempt)
      end
    end

    def wait_for_work
      @lock.synchronize do
        until @closing.set? || due? || !@cancels.empty?
          soonest = @waiting.each_key.map(&:not_before).min
          @changed.wait(@lock, soonest && [soonest - Clock.now, 0.001].max)
        end
      end
    end

    def due? = @waiting.any? { |attempt, _| attempt.not_before <= Clock.now }

    def send_cancel(attempt)
      at, ttl_ms = attempt.pushed.to_a
      text = ttl_ms.positive? ? Message.stamped(at, ttl_ms, attempt.body) : ""
      removed = @queue.cancel(@connection, attempt.id, text)
      @events.emit("call:cancelled", task: attempt.task, id: attempt.id, removed: removed)
    rescue *Connection::PROBLEMS
      # The request runs or expires by itself; nobody waits for it.
      nil
    end

    # What goes with the next push. Calls that a list as long as it was a moment ago has no room for are refused.
    def next_batch
      length = @forecast.length
      batch = []
      taken.each do |attempt|
        next if attempt.settled
        next batch << attempt unless length && length + batch.size >= @forecast.length_within(attempt.finish - Clock.now)

        overloaded(length + batch.size, attempt)
      end
      batch
    end

    def taken
      @lock.synchronize do
        now = Clock.now
        ready = @waiting.each_key.lazy.select { |attempt| attempt.not_before <= now }.first(Batches::MOST)
        part = Batches.of(ready) { |attempt| attempt.body.bytesize }.first || []
        part.each { |attempt| @waiting.delete(attempt) }
      end
    end

    # Pushes a batch under one number until its outcome is known or nobody waits for it any more.
    def deliver(attempts)
      @number += 1
      prepare = lambda do |lost|
        # Once a try is in doubt, all further ones are the same list: the answer counts how many of it were taken.
        attempts = attempts.reject(&:settled) unless lost
        -> { send_push(attempts) } unless attempts.all?(&:settled)
      end
      on_setback = ->(error, lost) { @host.undoubt(attempts, Errors.message_of(error), lost) }
      kind, told = Numbered.deliver(@connection, @closing, prepare: prepare, on_setback: on_setback)
      case kind
      when :answer then answered(attempts, *told)
      when :refused then refuse(attempts, told)
      when :unknown then give_up(attempts)
      end
    end

    def send_push(attempts)
      counted_at = Clock.now
      ttls = attempts.map { |attempt| [1, ((attempt.finish - counted_at) * 1000).floor - WAY_MS].max }
      messages = attempts.zip(ttls).map { |attempt, ttl| Message.unstamped(ttl, attempt.body) }
      pushed = @queue.push(
        @connection, @host.id, @number, max_length_for(attempts), messages, @clock.at_us(counted_at)
      ) { @host.doubt(attempts) }
      # Of a repeat the ttls are those of the try that arrived, so its messages are not known exactly.
      [pushed, pushed.repeated ? nil : ttls]
    end

    # The longest list in which the most patient of these would be served in time.
    def max_length_for(attempts) = [@max_length, @forecast.length_within(left_of(attempts))].min.to_i

    # How much time the most patient of these has left, in seconds.
    def left_of(attempts) = [0.0, attempts.map(&:finish).max - Clock.now].max

    def answered(batch, pushed, ttls)
      now = @answered_at = Clock.now
      # A repeat tells the length of now and the time of its first try.
      unless pushed.repeated
        @forecast.see(pushed.length, pushed.accepted, left_of(batch))
        @clock.learn(pushed.at.to_i, now)
      end
      batch.each_with_index do |attempt, index|
        next overloaded(pushed.length, attempt) if index >= pushed.accepted

        ttl_ms = ttls ? [1, ttls[index] - pushed.late_ms].max : 0
        @host.enqueued(attempt, InList.new(pushed.at, ttl_ms, pushed.repeated ? nil : pushed.length + index))
        cancel(attempt) if attempt.abandoned
      end
      @events.emit("queue:pushed", queue: @queue.name, count: pushed.accepted, rejected: batch.size - pushed.accepted,
                                   length: pushed.length, repeated: pushed.repeated)
    end

    def overloaded(about, attempt)
      length = about.round
      most = max_length_for([attempt])
      wait_ms = (@forecast.wait_s(length) * 1000).round
      patience_ms = (@forecast.patience_s(attempt.finish - Clock.now) * 1000).round
      name = @queue.name
      reason = if length >= @max_length then "#{length} requests wait in queue #{name}, and its limit is #{@max_length}."
               elsif wait_ms > patience_ms
                 "About #{wait_ms} ms of work waits in queue #{name}, and this call can wait only #{patience_ms} ms."
               else
                 "Calls to queue #{name} arrive faster than its workers serve them: #{length} requests wait, and the limit is now #{most}."
               end
      data = { "length" => length, "maxLength" => most, "waitMs" => wait_ms }
      @host.refuse(attempt, "Overloaded", "#{reason} Add workers or slots, or retry later.", data)
    end

    # Redis answered with an error, so nothing was enqueued: it refuses before it writes.
    def refuse(attempts, error)
      message = "Redis refused the request: #{Refusals.explained(Errors.message_of(error))}."
      attempts.each { |attempt| @host.refuse(attempt, "NotEnqueued", message) }
    end

    # The number may be forgotten soon; repeating the push after that could run it twice.
    def give_up(attempts)
      message = "The connection broke while the request was sent, and Redis can no longer tell whether it arrived."
      attempts.each { |attempt| @host.refuse(attempt, "OutcomeUnknown", message) }
    end
  end
end
