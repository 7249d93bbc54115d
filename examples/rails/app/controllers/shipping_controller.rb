# frozen_string_literal: true

# curl 'localhost:3000/shipping/DE?grams=1200'
class ShippingController < ApplicationController
  def show
    grams = params[:grams]
    # What is no number goes as it came, for the schema of the task to refuse.
    args = { country: params[:country], grams: grams.to_s.match?(/\A\d+\z/) ? grams.to_i : grams }
    # Who says how long they wait is answered by then.
    timeout = Pshub.timeout_of(request.headers["pshub-timeout-ms"], 2)
    render json: HUB.call("shipping_cost:1.0", args, timeout:)
  end
end
