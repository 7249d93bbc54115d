# frozen_string_literal: true

require_relative "../wire/foreign"
require_relative "../wire/job_part"
require_relative "../wire/keys"
require_relative "../wire/message"
require_relative "../wire/payload"

module Pshub
  # A step of a chain that has not come yet, as it travels in the messages of those before it; and any job before it is sent.
  #
  # +args+:: JSON, a text, so that nobody on the way decodes and encodes it again
  # +job+:: what it carries as a job, as JobPart has it; nil for nothing
  # +pass+:: the field of its arguments that gets the result of the step before it; nil for none
  # +shards+:: over which its queue is spread, of one that is not sent yet; nil: it is not
  Step = Struct.new(:id, :task, :queue, :args, :job, :ttl_ms, :pass, :shards, keyword_init: true)

  # Steps as they travel.
  module Steps
    MAX_TASK = 128
    OPENING = /\A[ \t\r\n]*\{[ \t\r\n]*/

    module_function

    # +then+ of a message.
    def text(steps)
      Payload.compact(steps.map do |step|
        told = { "id" => step.id, "task" => step.task, "queue" => step.queue, "args" => step.args }
        told["job"] = step.job if step.job
        told["ttl"] = step.ttl_ms if step.ttl_ms.positive?
        told["pass"] = step.pass if step.pass
        told
      end)
    end

    # The steps behind a job; none where others wrote what cannot be read.
    def read(value)
      steps = value.is_a?(Array) ? value.map { |each| read_one(each) } : []
      steps.all? ? steps : []
    end

    def read_one(value)
      return nil unless value.is_a?(Hash)

      id, task, queue, args, job, ttl, pass = value.values_at("id", "task", "queue", "args", "job", "ttl", "pass")
      return nil unless Keys.id?(id) && Keys.queue_name?(queue) && args.is_a?(String)
      return nil unless task.is_a?(String) && task.length <= MAX_TASK

      Step.new(id: id, task: task, queue: queue, args: args, job: value.key?("job") ? JobPart.read(job) : nil,
               ttl_ms: Foreign.count?(ttl) ? ttl.to_i : 0, pass: pass.is_a?(String) ? pass : nil)
    end

    # The first of some steps as a message without its +at+; the others travel in it.
    def message(steps, from, traceparent = nil, tracestate = nil)
      first, *others = steps
      behind = others.empty? ? "" : %(,"then":#{text(others)})
      # What is merged has neither a caller nor a trace of its own: nothing is behind its arguments.
      tail = first.job&.key?("merged") ? "}" : behind + Message.tail(nil, from, traceparent, tracestate)
      Message.unstamped(first.ttl_ms, Message.job_body(first.id, first.job && JobPart.text(first.job), first.task, first.args, tail))
    end

    # What follows a job that is done, as the settle function takes it; empty when nothing does. +result+ is JSON.
    def following(request, result, own_queue)
      step, *others = read(request.then_steps)
      return "" unless step

      step.args = with_field(step.args, step.pass, result) if step.pass
      message = message([step, *others], request.from, request.traceparent, request.tracestate)
      step.queue == own_queue ? message : "#{step.queue} #{message}"
    end

    # Spliced in as text: neither is decoded and encoded again. A field of that name that is there already comes behind it, and counts.
    def with_field(args, field, value)
      opening = args[OPENING] or return args
      rest = args[opening.length..]
      "{#{Payload.compact(field)}:#{value}#{',' unless rest.start_with?('}')}#{rest}"
    end
  end
end
