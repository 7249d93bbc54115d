# frozen_string_literal: true

Rails.application.routes.draw { get "shipping/:country", to: "shipping#show" }
