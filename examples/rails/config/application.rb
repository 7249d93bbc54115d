# frozen_string_literal: true

require "logger"
require "rails"
require "action_controller/railtie"

module Shop
  class Application < Rails::Application
    config.load_defaults Rails::VERSION::STRING.to_f
    config.root = File.expand_path("..", __dir__)
    config.api_only = true
    config.eager_load = Rails.env.production?
    config.logger = Logger.new($stdout)
  end
end
