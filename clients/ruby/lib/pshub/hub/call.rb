# frozen_string_literal: true

require_relative "../redis/refusals"
require_relative "../wire/clock"
require_relative "../wire/errors"
require_relative "../wire/ids"
require_relative "../wire/message"

module Pshub
  # One try of a call, from the moment its request exists until it ends: by its reply, its deadline, its caller, or a refusal. Its
  # fields change under the hub's lock.
  class Attempt
    # A request that cannot be sent for this long, because Redis is away, fails at once instead of at its deadline.
    UNSENT_S = 1.0

    attr_reader :id, :call, :queue, :body, :tries, :earlier
    # +answered+: a worker ended it, and counts it. +in_doubt+: it was written and not answered, so it may be running. +setback+: why the last try to push it failed.
    attr_accessor :settled, :answered, :in_doubt, :abandoned, :setback, :pushed, :waits_since, :not_before

    def initialize(call, queue, tail, previous = nil, error = nil, wait_s = 0)
      @id = Ids.make
      @call = call
      @queue = queue
      asked = call.listener&.asked
      # A stream that was begun cannot be begun again: its chunks would come twice.
      idempotent = call.route.idempotent && !asked&.window&.positive?
      @body = Message.body(@id, task, idempotent, call.args_json, "#{asked&.text}#{tail}")
      @tries = previous ? previous.tries + 1 : 0
      @waits_since = previous ? Clock.now : call.started_at
      @not_before = Clock.now + wait_s
      # How an earlier try ended that may have been run; then no later one can say that it certainly was not.
      @earlier = error&.ran == "no" ? previous.earlier : error
    end

    def task = @call.route.task
    def finish = @call.finish
    def sent? = !@pushed.nil? || @in_doubt

    # Earlier than the call's own while its request cannot be sent.
    def deadline = sent? ? finish : [finish, @waits_since + UNSENT_S].min

    # What can truthfully be said at the deadline: sent and acknowledged, perhaps sent, or not sent. +down_reason+ is why Redis is
    # away, if it is.
    def lateness(down_reason)
      waited = "#{((Clock.now - @call.started_at) * 1000).round} ms"
      details = { task: task, id: @id }
      return Timeout.new("#{task} did not answer within #{waited}.", **details) if @pushed

      return OutcomeUnknown.new("Redis did not confirm the request within #{waited}.", **details) if @in_doubt

      reason = Refusals.explained(@setback || down_reason || "it did not answer")
      NotEnqueued.new("Redis did not accept the request within #{waited}: #{reason}.", **details)
    end

    # What its caller is told who gave up.
    def abandoned_error
      message = "The caller stopped waiting for #{task}."
      Aborted.new(message, task: task, id: @id, ran: sent? || @earlier ? nil : "no")
    end

    # What it is told when its hub is closed.
    # Its hub is closed: nobody waits for the answer any more. Returns what its caller is told.
    def close
      @abandoned = true
      details = { task: task, id: @id }
      sent? ? Aborted.new("The hub was closed while #{task} was running.", **details) : HubClosed.new(**details)
    end
  end
end
