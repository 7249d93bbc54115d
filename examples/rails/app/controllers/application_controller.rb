# frozen_string_literal: true

class ApplicationController < ActionController::API
  rescue_from Pshub::HubError, with: :tell

  private

  # Turns the error of a call into a response.
  def tell(error)
    problem = Pshub.problem_of(error)
    logger.error("#{error.code}: #{error.message}") if problem.status >= 500
    response.headers.merge!(problem.headers)
    render json: problem.body, status: problem.status, content_type: "application/problem+json"
  end
end
