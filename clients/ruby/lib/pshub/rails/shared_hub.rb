# frozen_string_literal: true

require_relative "../hub/hub"
require_relative "../settings/read"
require_relative "../settings/table"
require_relative "../wire/errors"

# Calls tasks over Redis: the hub that a whole application shares.
module Pshub
  # The hub of an application, with the settings of its config/pshub.yml.
  module SharedHub
    @lock = Mutex.new

    class << self
      attr_writer :hub, :file

      def hub = @hub || @lock.synchronize { @hub ||= Hub.new(**settings(:hub)) }

      # What the file says for a hub or a worker; the environment goes before it. Raises ConfigError for a setting that does not exist.
      def settings(user)
        given = @file.to_h.transform_keys(&:to_sym)
        unknown = (given.keys - SETTINGS.keys).first
        raise ConfigError, "config/pshub.yml: there is no setting #{unknown}. Known are #{SETTINGS.keys.join(', ')}." if unknown

        given.select { |name, _| SETTINGS[name].users.include?(user) && Settings.variable(SETTINGS[name].env).nil? }
      end
    end
  end

  # The hub of a Rails application and of Active Job: made by its first use, safe to use from any thread and after a fork.
  def self.hub = SharedHub.hub

  # Replaces it, by one with other settings or that of a test.
  def self.hub=(hub)
    SharedHub.hub = hub
  end
end
