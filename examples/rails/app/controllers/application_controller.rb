# frozen_string_literal: true

class ApplicationController < ActionController::API
  rescue_from Pshub::HubError, with: :tell

  private

  # The answer that fits the error of a call.
  def tell(error)
    if error.retryable
      # Some errors say how long it takes until a further try may be worth it, in milliseconds.
      told = error.data.is_a?(Hash) ? error.data : {}
      wait_ms = told["retryAfterMs"] || told["waitMs"] || 0
      response.headers["Retry-After"] = [1, (wait_ms / 1000.0).ceil].max.to_s
    end
    render json: { code: error.code, message: error.message, data: error.data }, status: error.http_status
  end
end
