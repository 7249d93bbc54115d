# frozen_string_literal: true

# curl 'localhost:3000/shipping/DE?grams=1200'
class ShippingController < ApplicationController
  def show
    grams = params[:grams]
    # Anything but a number is passed on, for the task's schema to reject.
    args = { country: params[:country], grams: grams.to_s.match?(/\A\d+\z/) ? grams.to_i : grams }
    # The header can shorten the time-out, never extend it.
    timeout = Pshub.timeout_of(request.headers["pshub-timeout-ms"], 2)
    render json: HUB.call("shipping_cost:1.0", args, timeout:)
  end
end
