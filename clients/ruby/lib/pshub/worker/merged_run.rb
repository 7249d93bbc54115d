# frozen_string_literal: true

require "json"
require_relative "../queue/job_queue"
require_relative "../wire/errors"
require_relative "../wire/job_part"
require_relative "../wire/message"
require_relative "../wire/payload"

module Pshub
  # Runs of merged jobs. Their payloads come in one list, in the order of the keys; how many bytes each has is said, too, so that one that is
  # no JSON, which anybody can have put there, costs the others nothing.
  module MergedRun
    # Stands for what cannot be read.
    UNREADABLE = Object.new.freeze
    # Bytes: the payloads behind it may be no UTF-8.
    LEADING = /\A(\{"at":[0-9]+,"ttl":[0-9]+,"id":"[A-Za-z0-9_-]+","job":(\{"fence":[0-9]+,"run":[^{}]*\}),"task":"[^" ]*","args":\[)/n

    module_function

    # The request of a claimed element. +is_job+: else it is no run. Raises Message::Malformed.
    def decode(raw, made_up_id, keys, is_job)
      (is_job && cut(raw, keys)) || Message.decode_request(raw, made_up_id, keys)
    end

    # The request of a run, its payloads cut by their bytes, each of them decoded by itself; nil for what is no run. Also of a text that is
    # JSON as a whole: two payloads that are none may be one together, and the others would come to the wrong keys.
    def cut(raw, keys)
      bytes = raw.b
      head = LEADING.match(bytes) or return nil
      from = head[0].bytesize
      payloads = sizes_of(head[2]).map do |size|
        from += size + 1
        read(bytes.byteslice(from - size - 1, size).to_s)
      end
      Message.decode_request("#{head[1]}]}", nil, keys).tap { |request| request.args = payloads }
    rescue Message::Malformed, JSON::JSONError, EncodingError
      nil
    end

    # In the order and number in which JobPart reads them.
    def sizes_of(part)
      run = JSON.parse(Payload.utf8(part), create_additions: false)["run"]
      run.select { |each| each.is_a?(Array) && each[0].is_a?(String) && each[2].is_a?(Array) }
         .flat_map { |_, _, sizes| sizes.each_slice(2).first(sizes.size / 2).map { |size, _| size.is_a?(Integer) ? size : 0 } }
    end

    def read(bytes)
      Payload.decode(Payload.utf8(bytes))
    rescue Payload::Problem
      UNREADABLE
    end

    # Keys and payloads of a request for a task that merges its jobs; nil for what came without a key.
    def args_of(request)
      part = request.job || {}
      # Enqueued before the task merged its jobs: alone.
      return [[part["key"], [request.args]]] if part.key?("key")
      return nil unless part.key?("run") && request.args.is_a?(Array)

      from = 0
      part["run"].map do |each|
        from += each.count
        [each.key, request.args[from - each.count, each.count] || []]
      end
    end

    # The end of a run that is not started, because a payload of it is none that its task takes: that one is given up. nil where all fit.
    def refused(held_id, task, run)
      reason = nil
      words = run.map do |_, payloads|
        place = payloads.index do |payload|
          problem = problem_of(task, payload)
          reason ||= problem
          problem
        end
        place ? "#{payloads[place].equal?(UNREADABLE) ? 'x' : 'd'}#{place + 1}" : "b0"
      end
      JobEnd.new(held_id, "retry", 0, JobPart.failure_text("InvalidArgs", reason), "", words) if reason
    end

    # Why a payload is none of the task's; nil where it is.
    def problem_of(task, payload)
      return "The payload is not valid JSON." if payload.equal?(UNREADABLE)

      problems = task.args_problems(payload)
      Errors.of_problems("InvalidArgs", problems, task.full_name).message unless problems.empty?
    end
  end
end
