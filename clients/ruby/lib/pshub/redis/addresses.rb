# frozen_string_literal: true

module Pshub
  # A host and its port.
  Address = Struct.new(:host, :port) do
    def to_s = "#{host.include?(':') ? "[#{host}]" : host}:#{port}"
  end

  # Options that name several servers: sentinels, or nodes of a Cluster to begin with.
  module Addresses
    # What is wrong with a target; it follows the name of the setting.
    class Wrong < StandardError; end

    PORTS = { one: 6379, sentinel: 26_379, cluster: 6379 }.freeze
    # In a URL, and as options.
    SECRETS = { "sentinelUsername" => :sentinel_username, "sentinelPassword" => :sentinel_password }.freeze
    # Options that are not the redis gem's.
    OWN = [:sentinels, :cluster, :name, *SECRETS.values].freeze

    module_function

    # The addresses in an option. Raises Wrong.
    def listed(given, kind, option)
      list = Array(given.is_a?(Hash) ? nil : given).map do |each|
        next each if each.is_a?(Address)

        own = each.is_a?(Hash) ? each.transform_keys(&:to_sym) : {}
        Address.new(own[:host], own.fetch(:port, PORTS[kind]))
      end
      return list if list.any? && list.all? { |each| address?(each) }

      raise Wrong, "must have in #{option} an array like [{ host: '127.0.0.1', port: #{PORTS[kind]} }]"
    end

    def address?(each) = each.host.is_a?(String) && !each.host.empty? && each.port.is_a?(Integer) && each.port.between?(1, 65_535)
  end
end
