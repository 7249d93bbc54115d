# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "../wire/times"

# Error responses of web applications for failed calls, and how long a call may take.
module Pshub
  # An error response for any framework: RFC 9457. +headers+ are +content-type+, and +retry-after+ if a retry may succeed; +body+ is a
  # Hash, to be sent as JSON. clients/vectors/problems.json has examples.
  HttpProblem = Struct.new(:status, :headers, :body)

  # Of these the message is about what the visitor sent. What others say may have names of tasks, hosts and files in it.
  ABOUT_REQUEST = %w[InvalidArgs PayloadTooLarge Overloaded NoSuchJob].freeze
  LONGEST_TIMEOUT_MS = 10 * 60_000
  # As long as a job may be put off.
  LONGEST_RETRY_AFTER_MS = 10 * 365 * 24 * 3600 * 1000
  private_constant :ABOUT_REQUEST, :LONGEST_TIMEOUT_MS, :LONGEST_RETRY_AFTER_MS

  class << self
    # The response for the error of a call. It has the message and data only if they concern what the visitor sent, or if the handler
    # chose a code of its own; otherwise it has the meaning of the code. Log the error itself.
    def problem_of(error)
      headers = { "content-type" => "application/problem+json" }
      headers["retry-after"] = seconds_to_wait(error.data).to_s if error.retryable
      HttpProblem.new(error.http_status, headers, details_of(error))
    end

    # Seconds that a call may take to answer a request: the header +pshub-timeout-ms+ of the request, and at most +at_most+. nil without
    # either. Raises InvalidArgs when the header is not a whole number from 1 to 600000.
    def timeout_of(header, at_most = nil)
      at_most = Times.seconds(at_most)
      return at_most if header.nil?

      ms = header.valid_encoding? && header.match?(/\A[0-9]{1,6}\z/) ? header.to_i : 0
      unless ms.between?(1, LONGEST_TIMEOUT_MS)
        raise InvalidArgs, "The header pshub-timeout-ms must be a whole number from 1 to #{LONGEST_TIMEOUT_MS}, not #{Errors.shown(header)}."
      end

      [ms / 1000.0, at_most].compact.min
    end

    private

    def details_of(error)
      own = error.code != error.kind
      told = own || ABOUT_REQUEST.include?(error.code)
      {
        "type" => ("urn:problem-type:pshub:#{error.code}" unless own),
        "title" => own ? error.code : ERROR_TABLE.fetch(error.kind).meaning, "status" => error.http_status,
        "detail" => (error.message if told), "code" => error.code, "ran" => error.ran, "retryable" => error.retryable,
        "data" => (error.data if told)
      }.compact
    end

    def seconds_to_wait(data)
      waits = data.is_a?(Hash) ? data.values_at("retryAfterMs", "waitMs") : []
      ms = waits.find { |each| each.is_a?(Numeric) && !(each.is_a?(Float) && each.nan?) } || 0
      (ms.clamp(0, LONGEST_RETRY_AFTER_MS) / 1000.0).ceil.clamp(1..)
    end
  end
end
