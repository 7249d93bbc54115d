# frozen_string_literal: true

require_relative "../queue/job_queue"
require_relative "../wire/errors"
require_relative "../wire/job_part"
require_relative "../wire/payload"
require_relative "../wire/times"
require_relative "backoff"
require_relative "chain"

module Pshub
  # How a job ended in a worker, and what becomes of it.
  module JobVerdict
    # What becomes of it, +retry+, +dead+ or +putoff+, after how many milliseconds, and how often it had failed before.
    Failure = Struct.new(:how, :delay_ms, :tries)
    WAYS = { "r" => "retry", "d" => "dead", "x" => "dead", "b" => "putoff" }.freeze
    # A job with such a failure would fail again however often it were tried.
    HOPELESS = %w[InvalidArgs PayloadTooLarge].freeze
    # It never began, whatever its own retries are: its worker may be restarting, or be deployed in a minute.
    UNBEGUN = %w[NoSuchTask NoWorkers].freeze

    module_function

    # Whether something waits for the end of a job, so that it is not enough to forget it; for that of one with a key the next
    # one of its key does.
    def awaited?(request) = !request.then_steps.nil? || %w[keep unique batch key].any? { |member| request.job&.key?(member) }

    # What a run of merged jobs took of several keys; nil for any other job.
    def run_of(request) = request.job&.fetch("run", nil)

    # What becomes of a job that ran well; nil when nothing is left to do but to forget it. +result+ is JSON.
    def done(request, result, queue)
      return JobEnd.new(request.held_id, "done", 0, "", "") if run_of(request)
      return nil unless awaited?(request)

      JobEnd.new(request.held_id, "done", 0, result, Steps.following(request, result, queue))
    end

    # What becomes of a job that failed, or could not be run. +error+ is as the wire has it, +raised+ what its handler raised.
    def failed(request, task, error, raised)
      text = JobPart.failure_text(error["code"], error["message"], error["status"])
      return JobEnd.new(request.held_id, "retry", 0, text, "", words(request, task, error, raised)) if run_of(request)
      return JobEnd.new(request.held_id, "putoff", raised.delay_ms, "", "") if raised.is_a?(PutOff)

      part = request.job || {}
      failures = part.fetch("tries", 0) + 1
      if UNBEGUN.include?(error["code"]) && failures <= Backoff::DEFAULT_RETRIES
        return JobEnd.new(request.held_id, "retry", Backoff.delay_after("exponential", failures), text, "")
      end

      final = final?(error, raised)
      most = part["retries"] || task&.retries || Backoff::DEFAULT_RETRIES
      delay_ms = delay_of(part["backoff"] || task&.backoff, error, raised, failures) unless final || failures > most
      return JobEnd.new(request.held_id, "dead", 0, text, "") unless delay_ms

      passes = part.key?("key") && task&.on_failure == "pass"
      JobEnd.new(request.held_id, passes ? "pass" : "retry", delay_ms, text, "")
    end

    def final?(error, raised) = HOPELESS.include?(error["code"]) || (raised.is_a?(TaskError) && raised.final?)

    # What becomes of each key of a run that failed, which did so as often as each of them says.
    def words(request, task, error, raised)
      final = final?(error, raised)
      run_of(request).map do |key|
        next "b#{raised.delay_ms.round}" if raised.is_a?(PutOff)

        failures = key.tries + 1
        given_up = final || failures > (task&.retries || Backoff::DEFAULT_RETRIES)
        delay_ms = delay_of(task&.backoff || "polynomial", error, raised, failures) unless given_up
        delay_ms ? "r#{delay_ms.round}" : "d1"
      end
    end

    # What became of a job that did not end well: one Failure, or one for each key of a run.
    def failures_of(request, job_end)
      tries = (request.job || {}).fetch("tries", 0)
      if job_end.words
        return job_end.words.zip(run_of(request)).map { |word, key| Failure.new(WAYS.fetch(word[0]), word[1..].to_i, key.tries) }
      end
      return [] if %w[done expired cancelled].include?(job_end.outcome)

      [Failure.new(job_end.outcome == "pass" ? "retry" : job_end.outcome, job_end.delay_ms, tries)]
    end

    # Whether it did not fail, but comes back later; nil is one that is done.
    def put_off?(job_end)
      job_end && (job_end.outcome == "putoff" || (job_end.words || [""]).all? { |word| word.start_with?("b") })
    end

    # The end of a job whose time was up before it was started. The payloads of a run wait again.
    def unstarted(request)
      run = run_of(request)
      run ? JobEnd.new(request.held_id, "retry", 0, "", "", run.map { "b0" }) : unrun(request.held_id, "expired")
    end

    # The end of a job that was not run, or not to its end. +outcome+ is +expired+ or +cancelled+.
    def unrun(held_id, outcome) = JobEnd.new(held_id, outcome, 0, "", "")

    # nil: not again.
    def delay_of(backoff, error, raised, failures)
      return Backoff.delay_after(backoff || "exponential", failures) unless backoff.respond_to?(:call)

      ms = Times.ms(backoff.call(raised || Errors.from_wire(error), failures))
      return nil if ms.nil?

      Times.number?(ms) && ms >= 0 ? ms : Backoff.delay_after("exponential", failures)
    rescue StandardError
      # A job must not be lost by it.
      Backoff.delay_after("exponential", failures)
    end

    # What somebody is told who waits for a job that ended so.
    def answer(job_end, ticket, worker_id)
      said = job_end.outcome == "done" ? %("ok":true,"result":#{job_end.text}) : %("ok":false,"error":#{error_of(job_end)})
      %({"id":"#{ticket}",#{said},"worker":"#{worker_id}"})
    end

    def error_of(job_end)
      case job_end.outcome
      when "dead" then "{#{job_end.text}}"
      when "cancelled" then Payload.compact({ "code" => "Aborted", "message" => "The job was cancelled." })
      else Payload.compact({ "code" => "Expired", "message" => "The job expired before it ran." })
      end
    end
  end
end
