# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "addresses"
require_relative "failures"
require_relative "url"

module Pshub
  # Which Redis, as users name it: a URL, or a hash of the redis gem's options, with +sentinels+ and +name+ or with +cluster+ in the
  # place of +host+ and +port+. A +password+ may be a proc, which is asked for each new connection.
  module Target
    # A target taken apart.
    #
    # +kind+:: +one+: a server, or any node of a Cluster; +sentinel+: the master that sentinels name; +cluster+: nodes to begin with
    # +addresses+:: of sentinels or nodes; those of +one+ are in its options
    # +options+:: for the redis gem, of the servers that have the data
    # +sentinel_options+, +name+:: the same of the sentinels, and how they call the master
    Servers = Struct.new(:kind, :addresses, :options, :sentinel_options, :name)

    module_function

    # Raises Addresses::Wrong.
    def read(target)
      unless target.is_a?(String) || target.is_a?(Hash)
        raise Addresses::Wrong, "must be a URL like redis://127.0.0.1:6379, or a hash of the redis gem's options"
      end

      given = target.is_a?(Hash) ? without_url(target.transform_keys(&:to_sym)) : options_of(RedisUrl.read(target))
      raise Addresses::Wrong, RedisUrl::WRONG[:database] unless given.fetch(:db, 0).to_i.zero?

      options = given.reject { |name, _| Addresses::OWN.include?(name) }
      return read_one(given, options) unless given[:sentinels] || given[:cluster]

      read_several(given, options)
    end

    # What is wrong with it, nil for nothing.
    def wrong(target)
      read(target)
      nil
    rescue Addresses::Wrong => e
      e.message
    end

    # The target as text that can be shown: no user, no password.
    def describe(target)
      return RedisUrl.read(target).to_s if target.is_a?(String)

      servers = read(target)
      return shown_one(servers.options) if servers.kind == :one

      scheme = servers.options[:ssl] ? "rediss" : "redis"
      "#{scheme}+#{servers.kind}://#{servers.addresses.join(',')}#{"/#{servers.name}" if servers.name}"
    end

    # The gem's options of a new connection to a server.
    def at(options, address)
      return options unless address

      # What names another place would count.
      options.reject { |name, _| name == :path }.merge(host: address.host, port: address.port)
    end

    # The same with the password of now. Raises NotConnected where it cannot be had.
    def with_password(options)
      return options unless options[:password].respond_to?(:call)

      password = begin
        options[:password].call
      rescue StandardError => e
        raise NotConnected, "the password could not be read: #{Errors.message_of(e)}"
      end
      return { **options, password: password } if password.is_a?(String)

      raise NotConnected, "the password could not be read: its function returned #{password.class}, not a string"
    end

    # The one whose options these are, as far as they tell.
    def address_in(options) = Address.new((options[:host] || "127.0.0.1").to_s, (options[:port] || 6379).to_i)

    # The options that a URL stands for.
    def options_of(url)
      wrong = url.options.keys - (url.kind == :sentinel ? Addresses::SECRETS.keys : [])
      unless wrong.empty?
        known = url.kind == :sentinel ? "it may have #{Addresses::SECRETS.keys.join(' and ')}; " : ""
        raise Addresses::Wrong, "has an unsupported option after ?; #{known}pass others in a hash of the redis gem's options"
      end

      server = { path: url.path, username: url.username, password: url.password, ssl: url.tls || nil, name: url.name }
      one, = url.addresses
      server.update(host: one.host, port: one.port) if url.kind == :one && one
      server.update(url.kind == :sentinel ? { sentinels: url.addresses } : { cluster: url.addresses }) unless url.kind == :one
      server.update(url.options.transform_keys { |name| Addresses::SECRETS[name] }).compact
    end

    # What is beside the URL counts, as in the gem.
    def without_url(given)
      given[:url] ? { **options_of(RedisUrl.read(given[:url].to_s)), **given.reject { |name, _| name == :url } } : given
    end

    def read_one(given, options)
      return Servers.new(:one, [], options) unless Addresses::OWN.any? { |name| given[name] }

      raise Addresses::Wrong, "names no sentinels: give sentinels, an array of { host:, port: }"
    end

    def read_several(given, options)
      raise Addresses::Wrong, "must have sentinels or cluster, not both" if given[:sentinels] && given[:cluster]

      kind = given[:sentinels] ? :sentinel : :cluster
      option = kind == :sentinel ? :sentinels : :cluster
      if %i[host port path].any? { |name| options[name] }
        raise Addresses::Wrong, "must not have host, port or path beside #{option}, which has them"
      end

      addresses = Addresses.listed(given[option], kind, option)
      return read_sentinels(given, options, addresses) if kind == :sentinel
      return Servers.new(:cluster, addresses, options) if Addresses::OWN.none? { |name| name != :cluster && given[name] }

      raise Addresses::Wrong, "must have name, sentinel_username and sentinel_password with sentinels only"
    end

    def read_sentinels(given, options, addresses)
      name = given[:name]
      unless name.is_a?(String) && !name.empty? && !name.include?("/")
        raise Addresses::Wrong, "#{RedisUrl::WRONG[:name]}; in a hash it is name"
      end

      # User and password are the data servers'. All else, as what TLS needs, is the same for both.
      own = options.reject { |option, _| %i[username password].include?(option) }
      own.update({ username: given[:sentinel_username], password: given[:sentinel_password] }.compact)
      Servers.new(:sentinel, addresses, options, own, name)
    end

    def shown_one(options) = (options[:path] || address_in(options)).to_s
  end
end
