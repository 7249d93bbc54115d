# frozen_string_literal: true

require "socket"
require "uri"

module Pshub
  # Every setting there is, in one table: option, else environment, else default.
  class Config
    # +parse+ reads the environment, which speaks of milliseconds where this package speaks of seconds.
    Setting = Struct.new(:users, :env, :fallback, :parse, :must, :check, keyword_init: true)

    def self.whole(low, high)
      {
        parse: ->(text) { Integer(text, 10) }, must: "be a whole number from #{low} to #{high}",
        check: ->(value) { value.is_a?(Integer) && value.between?(low, high) }
      }
    end

    def self.seconds(low, high)
      {
        parse: ->(text) { Float(text) / 1000 }, must: "be a number of seconds from #{low} to #{high}",
        check: ->(value) { value.is_a?(Numeric) && value.real? && value.between?(low, high) }
      }
    end

    def self.text(must, &check) = { parse: :itself.to_proc, must: must, check: check }

    # Database 0 is the only one; the namespace is what keeps applications apart.
    def self.target?(value)
      return value.transform_keys(&:to_sym).fetch(:db, 0).to_i.zero? if value.is_a?(Hash)
      return false unless value.is_a?(String)

      url = URI.parse(value)
      return true if url.scheme == "unix"

      %w[redis rediss].include?(url.scheme) && ["", "/", "/0"].include?(url.path.to_s)
    rescue URI::InvalidURIError
      false
    end

    BOTH = %i[hub worker].freeze
    TABLE = {
      redis: { users: BOTH, env: "PSHUB_REDIS", fallback: "redis://127.0.0.1:6379", **text(
        "be a URL like redis://127.0.0.1:6379 without a database, or a hash of the redis gem's options"
      ) { |value| target?(value) } },
      namespace: { users: BOTH, env: "PSHUB_NAMESPACE", fallback: "pshub",
                   **text("be 1 to 32 letters, digits, and _ . -") { |value| Keys.namespace?(value) } },
      name: { users: %i[hub], env: "PSHUB_NAME", fallback: -> { Socket.gethostname[0, 64] },
              **text("be a text of 1 to 64 characters") { |value| value.is_a?(String) && value.length.between?(1, 64) } },
      queue: { users: %i[worker], env: "PSHUB_QUEUE", fallback: "default",
               **text("be 1 to 64 letters, digits, and _ . -") { |value| Keys.queue_name?(value) } },
      slots: { users: %i[worker], env: "PSHUB_SLOTS", fallback: 4, **whole(1, 256) },
      max_payload_bytes: { users: BOTH, env: "PSHUB_MAX_PAYLOAD_BYTES", fallback: 1 << 20, **whole(1024, 64 << 20) },
      max_backlog: { users: BOTH, env: "PSHUB_MAX_BACKLOG", fallback: 10_000, **whole(1, 10_000_000) },
      grace: { users: %i[worker], env: "PSHUB_GRACE_MS", fallback: 10.0, **seconds(0, 3600) },
      # A beat is sent every second; with less, one that is late would pass for a death.
      lease: { users: %i[worker], env: "PSHUB_LEASE_MS", fallback: 4.0, **seconds(2, 600) },
      statsd: { users: BOTH, env: "PSHUB_STATSD", fallback: nil,
                **text("be host:port") { |value| value.nil? || value.to_s.match?(/\A[^\s:]+:[0-9]{1,5}\z/) } }
    }.transform_values { |row| Setting.new(**row) }.freeze

    TABLE.each_key { |name| define_method(name) { @values[name] } }

    # Raises ConfigError that names the setting, where its value came from, and what would be right. An option of nil is none.
    def initialize(user, options)
      known = TABLE.select { |_, setting| setting.users.include?(user) }
      unknown = options.keys.map(&:to_sym) - known.keys
      raise ConfigError, "There is no option #{unknown.first}. Known are #{known.keys.join(', ')}." unless unknown.empty?

      @values = known.to_h { |name, setting| [name, read(name, setting, options[name])] }
    end

    private

    def read(name, setting, value)
      origin = "option #{name}"
      if value.nil?
        text = ENV.fetch(setting.env, "")
        return setting.fallback.respond_to?(:call) ? setting.fallback.call : setting.fallback if text.empty?

        origin = setting.env
        value = parsed(setting, text)
      end
      return value if setting.check.call(value)

      # A URL may hold a password.
      shown = name == :redis ? "" : "; it is #{value.inspect}"
      raise ConfigError, "#{origin} must #{setting.must}#{shown}."
    end

    def parsed(setting, text)
      setting.parse.call(text)
    rescue ArgumentError
      text
    end
  end
end
