# frozen_string_literal: true

require_relative "errors"
require_relative "job_part"
require_relative "keys"
require_relative "payload"
require_relative "phases"
require_relative "streams"

module Pshub
  # A request as a worker sees it.
  #
  # +id+:: what the reply is marked with: the message's own id
  # +held_id+:: its name in the held hash: the same, unless the claim made one up
  # +at_us+:: Redis microseconds at the push; nil in a message that did not go through the function push
  # +ttl_ms+:: from +at+ to the deadline; 0 is none
  # +hub_id+:: whose reply list to answer on; nil when nobody waits
  # +idempotent+:: its caller said that running it twice does no harm
  # +losses+:: how many workers died holding it
  # +may_have_run+:: an earlier worker may have started it
  # +text+:: the message as it was in the list
  # +job+:: what it carries as a job, as JobPart reads it; nil when that is nothing but its arguments
  # +then_steps+:: the steps that follow it in a chain, unread
  # +asked+:: what it asks for beside its reply, an Asked; nil when that is nothing
  Request = Struct.new(
    :id, :held_id, :at_us, :ttl_ms, :task, :args, :hub_id, :from, :traceparent, :tracestate, :idempotent, :losses, :may_have_run,
    :text, :job, :then_steps, :asked
  ) do
    # Whether Redis' clock tells when its time is up, and whether it is.
    def timed? = ttl_ms.positive? && !at_us.nil?
    def over?(now_us) = timed? && now_us - at_us >= ttl_ms * 1000
  end

  # The two messages on the wire, request and reply. PROTOCOL.md, sections 5 and 6.
  module Message
    LEADING = /\A\{"at":([0-9]+),"ttl":[0-9]+,"id":"([A-Za-z0-9_-]+)"/
    # It counts where functions in Redis see it: they decide about it too.
    BEGINS_IDEMPOTENT = /#{LEADING},"idempotent":true,/
    BEGINS_JOB = /#{LEADING},"job":\{/
    REPLY_ID = /\A\{"id":"([A-Za-z0-9_-]+)"/
    MAX_TASK_LENGTH = 128
    MAX_TRACESTATE_LENGTH = 512
    MAX_SAFE_INTEGER = (2**53) - 1

    # Why a list element is not a request; its text is not repeated, because payloads never go to logs.
    class Malformed < StandardError; end

    module_function

    # Everything of a request that follows +at+ and +ttl+. Functions look for the mark of an idempotent one right behind its id.
    def body(id, task, idempotent, args_json, tail)
      %("id":"#{id}",#{'"idempotent":true,' if idempotent}"task":"#{task}","args":#{args_json}#{tail})
    end

    # The same of a job; +part+ is what it carries beside its arguments, as JobPart.text has it, or nil.
    def job_body(id, part, task, args_json, tail)
      %("id":"#{id}",#{%("job":#{part},) if part}"task":"#{task}","args":#{args_json}#{tail})
    end

    # The end of a request, which is the same for many of one caller; +result_queue+ is nil for a job.
    def tail(result_queue, from, traceparent = nil, tracestate = nil)
      text = +""
      text << %(,"result_queue":#{Payload.compact(result_queue)}) if result_queue
      text << %(,"from":#{Payload.compact(from)}) if from
      text << %(,"traceparent":#{Payload.compact(traceparent)}) if traceparent
      text << %(,"tracestate":#{Payload.compact(tracestate)}) if tracestate?(tracestate)
      text << "}"
    end

    # The message as the function push gets it: it puts {"at":<now>, in front.
    def unstamped(ttl_ms, body) = %("ttl":#{ttl_ms},#{body})

    # The message as it lies in the list.
    def stamped(at, ttl_ms, body) = %({"at":#{at},"ttl":#{ttl_ms},#{body})

    # +chunks+: of a stream, how many were pushed before.
    def ok_reply(id, result_json, worker, phases, chunks = nil)
      %({"id":"#{id}","ok":true,"result":#{result_json},#{%("chunks":#{chunks},) if chunks}"worker":"#{worker}",#{phases.json}})
    end

    # The reply of a request that did not end well; its +error+ goes through #told here, on whatever way it comes.
    def error_reply(request, error, worker, phases = nil)
      json = Payload.compact(told(request, error))
      %({"id":"#{request.id}","ok":false,"error":#{json},"worker":"#{worker}"#{phases && ",#{phases.json}"}})
    end

    # What its caller is told of an error: never that a request was certainly not run which an earlier worker may have started.
    def told(request, error)
      return error unless request.may_have_run && Errors.kind_of(error["code"]).ran == "no"

      message = "An earlier worker may have run #{request.task} before it stopped or crashed. It was not run again: #{error['message']}"
      error.merge("code" => "WorkerLost", "message" => message, "retryable" => false)
    end

    # Reads a claimed list element. Raises Malformed with a reason that names no content.
    def decode_request(raw, held_id, keys)
      text = Payload.utf8(raw)
      value = Payload.decode(text)
      raise Malformed, "not a JSON object" unless value.is_a?(Hash)

      task = value["task"]
      raise Malformed, "no task name" unless task.is_a?(String) && task.length <= MAX_TASK_LENGTH

      id = Keys.id?(value["id"]) ? value["id"] : held_id
      raise Malformed, "no id" unless id

      hub_id = keys.hub_id_of(value["result_queue"])
      raise Malformed, "result_queue is not a hub's reply list" if hub_id.nil? && value.key?("result_queue")

      request_of(value, id, held_id || leading_id(text) || id, hub_id, text)
    rescue Payload::Problem => e
      raise Malformed, e.message
    end

    def request_of(value, id, held_id, hub_id, text)
      at, ttl, losses, from, traceparent = value.values_at("at", "ttl", "losses", "from", "traceparent")
      losses = Payload.whole?(losses) ? losses.to_i : 0
      Request.new(
        id, held_id,
        Payload.whole?(at) && at.between?(1, MAX_SAFE_INTEGER) ? at.to_i : nil,
        ttl.is_a?(Numeric) && ttl.positive? && ttl.to_f.finite? ? ttl : 0,
        value["task"], value.fetch("args") { {} }, hub_id,
        from.is_a?(String) ? from[0, 64] : nil,
        traceparent.is_a?(String) ? traceparent[0, 64] : nil,
        tracestate?(value["tracestate"]) ? value["tracestate"] : nil,
        value["idempotent"] == true && text.match?(BEGINS_IDEMPOTENT), losses, value["started"] == true || losses.positive?, text,
        value.key?("job") && text.match?(BEGINS_JOB) ? JobPart.read(value["job"]) : nil, value["then"],
        hub_id && Streams.asked(value)
      )
    end

    # The +at+ of the leading fields, as it is written there; empty where there are none.
    def leading_at(text) = text.b[LEADING, 1] || ""

    # The id that the claim read: the one in the leading fields, whatever else the message says further on.
    def leading_id(text) = text.valid_encoding? ? text[LEADING, 2] : text.b[LEADING, 2]

    # Reads a reply, or what comes before one; nil for anything that is neither.
    def decode_reply(raw)
      text = Payload.utf8(raw)
      value = Payload.decode(text)
      return nil unless value.is_a?(Hash) && value["id"].is_a?(String)
      return Streams.part(value) unless value.key?("ok") || value.key?("error")

      us = value.delete("us")
      value["us"] = us if Phases.read(us)
      return value if value["ok"] == true

      error = value["error"]
      return nil unless error.is_a?(Hash) && error["code"].is_a?(String) && error["message"].is_a?(String)

      value.merge("ok" => false)
    rescue Payload::Problem => e
      # Whose reply it is may still be read; its caller need not wait for the deadline.
      id = text.scrub[REPLY_ID, 1]
      message = "The reply is invalid: #{e.message}."
      id && { "id" => id, "ok" => false, "error" => { "code" => "InvalidResult", "message" => message } }
    end

    def tracestate?(value) = value.is_a?(String) && value.length <= MAX_TRACESTATE_LENGTH
  end
end
