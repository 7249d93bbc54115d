# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "table"

module Pshub
  # The settings of a hub or a worker: option, else environment, else default.
  class Settings
    SETTINGS.each_key { |name| define_method(name) { @values[name] } }

    # Of the environment; nil when it is not set, or empty. Without the line break that a file of secrets ends with. Quotes are a part of it:
    # whatever read the file kept them. Raises ConfigError.
    def self.variable(name)
      text = ENV.fetch(name, "").b.gsub(/\A[ \t\n\v\f\r]+|[ \t\n\v\f\r]+\z/, "").force_encoding(ENV.fetch(name, "").encoding)
      raise ConfigError, "#{name} has quotes around its value; leave them out." if text.b.match?(/\A(["']).*\1\z/mn)

      text unless text.empty?
    end

    # Raises ConfigError that names the setting, where its value came from, and what would be right. An option of nil is none.
    def initialize(user, options)
      known = SETTINGS.select { |_, setting| setting.users.include?(user) }
      unknown = options.keys.map(&:to_sym) - known.keys
      raise ConfigError, "There is no option #{unknown.first}. Known: #{known.keys.join(', ')}." unless unknown.empty?

      @values = known.to_h { |name, setting| [name, read(name, setting, options[name])] }
    end

    private

    def read(name, setting, value)
      origin = "option #{name}"
      if value.nil?
        text = Settings.variable(setting.env)
        return setting.fallback.respond_to?(:call) ? setting.fallback.call : setting.fallback unless text

        origin = setting.env
        value = parsed(setting, text)
      end
      value = setting.taken.call(value) if setting.taken
      return value if setting.check.call(value)

      # A URL may hold a password: what is said of one must not show it.
      wrong = setting.must.respond_to?(:call) ? setting.must.call(value) : "must #{setting.must}; it is #{value.inspect}"
      raise ConfigError, "#{origin} #{wrong}."
    end

    def parsed(setting, text)
      setting.parse.call(text)
    rescue ArgumentError
      text
    end
  end
end
