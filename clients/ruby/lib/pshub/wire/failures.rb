# frozen_string_literal: true

require_relative "errors"
require_relative "payload"

module Pshub
  # What a caller is told of what went wrong in a worker, as the wire has it.
  module Failures
    MAX_MESSAGE_LENGTH = 2000
    MAX_DATA_LENGTH = 65_536

    module_function

    # What the worker itself has to say.
    def told(error)
      with_data({ "code" => error.kind, "message" => error.message, "retryable" => false }, error.data)
    end

    # What the caller is told of a failure: message and the handler's own data, never a stack. Never raises.
    def of(raised)
      message = Errors.message_of(raised)[0, MAX_MESSAGE_LENGTH]
      known = { "code" => "TaskFailed", "message" => message, "retryable" => false }
      return { **known, "retryable" => true, "data" => { "retryAfterMs" => raised.delay_ms.ceil } } if raised.is_a?(PutOff)
      return known unless raised.is_a?(TaskError) || raised.is_a?(HubError)

      with_data({ **known, "retryable" => raised.is_a?(TaskError) && raised.retryable == true, **chosen_of(raised) }, data_of(raised))
    rescue StandardError
      # A class of the handler's own may have methods that raise in turn.
      known
    end

    # What was found wrong with the arguments or the result, field by field; nothing for other errors.
    def problems_of(error) = %w[InvalidArgs InvalidResult].include?(error["code"]) ? error.dig("data", "problems") || [] : []

    # What the handler chose.
    def chosen_of(raised)
      return {} unless raised.is_a?(TaskError)

      code = raised.code if Errors.own_code?(raised.code)
      status = raised.http_status if Errors.failed_status?(raised.http_status)
      { "code" => code, "status" => status&.to_i }.compact
    end

    # A nested call's error is a failure of this task; which one it was is worth knowing, also without its own data.
    def data_of(raised)
      return raised.data if raised.is_a?(TaskError)
      return nil unless raised.is_a?(HubError)

      told = raised.to_h
      { "nested" => Payload.encode(told).length <= MAX_DATA_LENGTH / 2 ? told : told.except("data") }
    rescue Payload::Problem
      { "nested" => told.except("data") }
    end

    def with_data(known, data)
      # With the level that the reply puts around it.
      text = Payload.encode("data" => data)
      # Read back, so that it is what it was now, whatever becomes of the handler's own.
      data.nil? || text.length > MAX_DATA_LENGTH ? known : known.merge(Payload.decode(text))
    rescue Payload::Problem => e
      known.merge("data" => { "problems" => [e.problem] })
    end
  end
end
