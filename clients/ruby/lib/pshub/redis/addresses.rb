# frozen_string_literal: true

module Pshub
  # A host and its port.
  Address = Struct.new(:host, :port) do
    def to_s = "#{host.include?(':') ? "[#{host}]" : host}:#{port}"
  end

  # URLs and options that name several servers: sentinels, or nodes of a Cluster to begin with.
  module Addresses
    # What is wrong with a target; it follows the name of the setting.
    class Wrong < StandardError; end

    PORTS = { sentinel: 26_379, cluster: 6379 }.freeze
    EXAMPLES = {
      sentinel: "as in redis+sentinel://user:password@host1:26379,host2:26379/master-name",
      cluster: "as in redis+cluster://user:password@host1:6379,host2:6379"
    }.freeze
    DATABASE = "must not name a database: use 0 and the option namespace"
    SCHEME = %r{\A(rediss?)\+(sentinel|cluster)://(.*)\z}m
    NODE = /\A(?:\[([\h:.%]+)\]|([^\s:\[\]]+))(?::(\d{1,5}))?\z/
    # In a URL, and as options.
    SECRETS = { "sentinelUsername" => :sentinel_username, "sentinelPassword" => :sentinel_password }.freeze
    # Options that are not the redis gem's.
    OWN = [:sentinels, :cluster, :name, *SECRETS.values].freeze

    module_function

    def several?(url) = SCHEME.match?(url)

    # The options that such a URL stands for. Raises Wrong.
    def options_of(url)
      start, kind, rest = SCHEME.match(url).captures
      kind = kind.to_sym
      place, query = rest.split("?", 2)
      # Up to the last @, because a password may hold one.
      _, credentials, hosts, path = %r{\A(?:(.*)@)?([^/]*)(?:/(.*))?\z}m.match(place.to_s).to_a
      options = { **credentials_of(credentials), **secrets_of(query, kind) }
      options[:ssl] = true if start == "rediss"
      addresses = hosts.to_s.split(",", -1).map { |text| address_of(text, kind) }
      raise Wrong, "must name hosts with their ports, #{EXAMPLES[kind]}" if addresses.empty?
      return { **options, sentinels: addresses, name: unescaped(path.to_s) } if kind == :sentinel

      raise Wrong, DATABASE unless ["", "0"].include?(path.to_s)

      { **options, cluster: addresses }
    end

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

    def address_of(text, kind)
      six, four, port = NODE.match(text)&.captures
      address = Address.new(six || four, (port || PORTS[kind]).to_i)
      address?(address) ? address : raise(Wrong, "must name hosts with their ports, #{EXAMPLES[kind]}")
    end

    def credentials_of(text)
      username, password = text.to_s.split(":", 2).map { |part| unescaped(part) }
      { username: username, password: password }.reject { |_, part| part.nil? || part.empty? }
    end

    # A % that begins nothing is one, and so is a +.
    def unescaped(text) = text.b.gsub(/%(\h\h)/n) { [Regexp.last_match(1)].pack("H2") }.force_encoding(Encoding::UTF_8)

    def secrets_of(query, kind)
      query.to_s.split("&").to_h do |pair|
        name, value = pair.split("=", 2)
        unless kind == :sentinel && SECRETS.key?(name)
          known = kind == :sentinel ? "but #{SECRETS.keys.join(' and ')}" : "after its hosts"
          raise Wrong, "can have no options in this URL #{known}; give a hash of options"
        end

        [SECRETS[name], unescaped(value.to_s)]
      end
    end
  end
end
