# frozen_string_literal: true

require "uri"
require_relative "../wire/errors"
require_relative "addresses"
require_relative "failures"

module Pshub
  # Which Redis, as users name it: a URL, or a hash of the redis gem's options, with +sentinels+ and +name+ or with +cluster+ in the
  # place of +host+ and +port+. A +password+ may be a proc, which is asked for each new connection.
  module Target
    PLAIN = "must be a URL like redis://127.0.0.1:6379 without a database, or a hash of the redis gem's options"

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
      return read_url(target) if target.is_a?(String) && !Addresses.several?(target)
      raise Addresses::Wrong, PLAIN unless target.is_a?(String) || target.is_a?(Hash)

      given = target.is_a?(Hash) ? target.transform_keys(&:to_sym) : Addresses.options_of(target)
      raise Addresses::Wrong, Addresses::DATABASE unless given.fetch(:db, 0).to_i.zero?

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
      return shown_url(target) if target.is_a?(String)

      servers = read(target)
      return shown_one(servers.options) if servers.kind == :one

      scheme = servers.options[:ssl] ? "rediss" : "redis"
      "#{scheme}+#{servers.kind}://#{servers.addresses.join(',')}#{"/#{servers.name}" if servers.name}"
    end

    # The gem's options of a new connection to a server.
    def at(options, address)
      return options unless address

      # What names another place would count.
      options.reject { |name, _| %i[url path].include?(name) }.merge(credentials_in(options[:url]), host: address.host, port: address.port)
    end

    # The same with the password of now. Raises NotConnected where it cannot be had.
    def with_password(options)
      return options unless options[:password].respond_to?(:call)

      password = begin
        options[:password].call
      rescue StandardError => e
        raise NotConnected, "the password could not be asked for: #{Errors.message_of(e)}"
      end
      return { **options, password: password } if password.is_a?(String)

      raise NotConnected, "the password could not be asked for: what was given returned #{password.class}, and no text"
    end

    # The one whose options these are, as far as they tell.
    def address_in(options)
      url = URI.parse(options[:url].to_s)
      Address.new((url.hostname || options[:host] || "127.0.0.1").to_s, (url.port || options[:port] || 6379).to_i)
    end

    # Database 0 is the only one; the namespace is what keeps applications apart.
    def read_url(url)
      read = URI.parse(url)
      fine = read.scheme == "unix" || (%w[redis rediss].include?(read.scheme) && ["", "/", "/0"].include?(read.path.to_s))
      raise URI::InvalidURIError unless fine && !read.host&.include?(",")

      Servers.new(:one, [], { url: url })
    rescue URI::InvalidURIError
      several = url.match?(%r{\Arediss?://([^/]*@)?[^/@]*,})
      raise Addresses::Wrong, several ? "names several hosts: write #{Addresses::EXAMPLES.values.join(', or ')}" : PLAIN
    end

    def read_one(given, options)
      read(given[:url]) if given[:url]
      return Servers.new(:one, [], options) unless Addresses::OWN.any? { |name| given[name] }

      raise Addresses::Wrong, "names no sentinels: give sentinels, an array of { host:, port: }"
    end

    def read_several(given, options)
      raise Addresses::Wrong, "must have sentinels or cluster, not both" if given[:sentinels] && given[:cluster]

      kind = given[:sentinels] ? :sentinel : :cluster
      option = kind == :sentinel ? :sentinels : :cluster
      if %i[url host port path].any? { |name| options[name] }
        raise Addresses::Wrong, "must not have url, host, port or path beside #{option}, which has them"
      end

      addresses = Addresses.listed(given[option], kind, option)
      return read_sentinels(given, options, addresses) if kind == :sentinel
      return Servers.new(:cluster, addresses, options) if Addresses::OWN.none? { |name| name != :cluster && given[name] }

      raise Addresses::Wrong, "must have name, sentinel_username and sentinel_password with sentinels only"
    end

    def read_sentinels(given, options, addresses)
      name = given[:name]
      unless name.is_a?(String) && !name.empty? && !name.include?("/")
        raise Addresses::Wrong, "must say how the sentinels call the master, #{Addresses::EXAMPLES[:sentinel]}; in a hash it is name"
      end

      # User and password are the data servers'. All else, as what TLS needs, is the same for both.
      own = options.reject { |option, _| %i[username password].include?(option) }
      own.update({ username: given[:sentinel_username], password: given[:sentinel_password] }.compact)
      Servers.new(:sentinel, addresses, options, own, name)
    end

    def credentials_in(url)
      return {} unless url

      read = URI.parse(url)
      found = { username: read.user, password: read.password }.reject { |_, part| part.nil? || part.empty? }
      found = found.transform_values { |part| Addresses.unescaped(part) }
      read.scheme == "rediss" ? { ssl: true, **found } : found
    end

    def shown_one(options)
      return shown_url(options[:url]) if options[:url]

      (options[:path] || Address.new((options[:host] || "127.0.0.1").to_s, options[:port] || 6379)).to_s
    end

    def shown_url(url)
      head, query = url.split("?", 2)
      # Where a password holds a ? nobody can tell it from an option, and both may be secrets.
      return "#{head[%r{\A[^:]*://}]}..." if query&.include?("@")

      # Up to the last @, because a password may hold one.
      head.sub(%r{//.*@}m, "//")
    end
  end
end
