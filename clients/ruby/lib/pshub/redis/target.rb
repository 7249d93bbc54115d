# frozen_string_literal: true

require "uri"

module Pshub
  # Which Redis, as users name it: a URL, or a hash of the redis gem's options.
  module Target
    # As the gem takes it.
    def self.options(target) = target.is_a?(Hash) ? target.transform_keys(&:to_sym) : { url: target }

    # The target as text that can be shown: no user, no password.
    def self.describe(target)
      given = options(target)
      return (given[:path] || "#{given[:host] || '127.0.0.1'}:#{given[:port] || 6379}").to_s unless given[:url]

      # Up to the last @, because a password may hold one; options after ? may be secrets too.
      given[:url].sub(%r{//.*@}m, "//").sub(/\?.*\z/m, "")
    end

    # Database 0 is the only one; the namespace is what keeps applications apart.
    def self.valid?(value)
      return options(value).fetch(:db, 0).to_i.zero? if value.is_a?(Hash)
      return false unless value.is_a?(String)

      url = URI.parse(value)
      return true if url.scheme == "unix"

      %w[redis rediss].include?(url.scheme) && ["", "/", "/0"].include?(url.path.to_s)
    rescue URI::InvalidURIError
      false
    end
  end
end
