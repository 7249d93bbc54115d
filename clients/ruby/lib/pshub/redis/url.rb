# frozen_string_literal: true

require_relative "addresses"

module Pshub
  # What a Redis URL says. Its grammar is in PROTOCOL.md, its cases are in clients/vectors/addresses.json.
  #
  # +kind+:: +one+, +sentinel+ or +cluster+
  # +addresses+:: of +one+ a single one; none where there is a socket
  # +path+:: of a Unix socket
  # +name+:: how sentinels call the master
  # +options+:: what follows ?, besides the database
  RedisUrl = Struct.new(:kind, :tls, :addresses, :path, :username, :password, :name, :options) do
    # The URL as it can be shown: no user, no password, no options.
    def to_s
      return "unix://#{path}" if path

      "#{tls ? 'rediss' : 'redis'}#{"+#{kind}" unless kind == :one}://#{addresses.join(',')}#{"/#{name}" if name}"
    end
  end

  # Reads Redis URLs. What it raises shows no part of the URL, which may be one of a password.
  class RedisUrl
    EXAMPLES = {
      one: "redis://127.0.0.1:6379", sentinel: "redis+sentinel://host1:26379,host2:26379/name",
      cluster: "redis+cluster://host1:6379,host2:6379"
    }.freeze
    WRONG = {
      ends: "must not begin or end with white space",
      control: "must not hold a line break or another control character; in a password a line break is %0A",
      form: "must be a URL like #{EXAMPLES[:one]}, #{EXAMPLES[:sentinel]} or #{EXAMPLES[:cluster]}",
      at: "must have an @ behind its hosts written as %40, and a ? in its password as %3F",
      colon: "must have a colon before the password, as in redis://user:password@host or redis://:password@host",
      escape: "must have each % of its password written as %25: what follows one is no text in UTF-8",
      database: "must not name a database; use 0, and a namespace to keep things apart",
      name: "must name the master as the sentinels do, as in #{EXAMPLES[:sentinel]}",
      socket: "must be the path of a socket, as in unix:///run/redis.sock",
      several: "must list its hosts, as in #{EXAMPLES[:sentinel]} or #{EXAMPLES[:cluster]}"
    }.freeze
    SCHEME = %r{\A(redis|rediss|unix)(?:\+(sentinel|cluster))?://(.*)\z}m
    NODE = %r{\A(?:\[([\h:.]+(?:%[\w.-]+)?)\]|([^\s:/?#%\[\]"',]+))(?::([0-9]{1,5}))?\z}

    class << self
      # User and password end at the last @ of the URL, so that a password may stand there as it is. Raises Addresses::Wrong.
      def read(given)
        start, several, rest = taken_apart(given.dup.force_encoding(Encoding::UTF_8))
        before, _, behind = rest.rpartition("@")
        place, _, query = behind.partition("?")
        hosts, slash, path = place.partition("/")
        kind = (several || :one).to_sym
        read = new(kind, start == "rediss", [], nil, *credentials_of(before), nil, options_of(query))
        if start == "unix"
          read.path = socket_of(hosts, slash + path)
        else
          kind == :sentinel ? read.name = name_of(path) : check_database(path)
          read.addresses = addresses_of(hosts, kind)
        end
        read
      end

      private

      def wrong(what) = raise(Addresses::Wrong, WRONG[what])

      def taken_apart(url)
        wrong(:form) unless url.valid_encoding?
        wrong(:ends) if url.match?(/\A[ \t\n\v\f\r]|[ \t\n\v\f\r]\z/)
        wrong(:control) if url.match?(/[\x00-\x1f\x7f]/)
        start, several, rest = SCHEME.match(url)&.captures
        wrong(:form) if start.nil? || (start == "unix" && several)
        [start, several, rest]
      end

      def credentials_of(text)
        wrong(:at) if text.match?(/[?&](sentinel)?(username|password)=/i)
        return [nil, nil] if ["", ":"].include?(text)

        username, colon, password = text.partition(":")
        wrong(:colon) if colon.empty?
        [(decoded(username) unless username.empty?), decoded(password)]
      end

      # A % that no two hexadecimal digits follow is one, and a + is one.
      def decoded(text)
        read = text.b.gsub(/%(\h\h)/n) { [Regexp.last_match(1)].pack("H2") }.force_encoding(Encoding::UTF_8)
        read.valid_encoding? ? read : wrong(:escape)
      end

      def options_of(query)
        options = query.split("&").reject(&:empty?).to_h do |pair|
          name, _, value = pair.partition("=")
          [name, decoded(value)]
        end
        check_database(options.delete("db").to_s)
        options
      end

      def check_database(text)
        wrong(:database) unless ["", "0"].include?(text)
      end

      def name_of(path)
        name = decoded(path)
        name.empty? || name.include?("/") ? wrong(:name) : name
      end

      def socket_of(hosts, path)
        hosts.empty? && !path.empty? ? decoded(path) : wrong(:socket)
      end

      def addresses_of(hosts, kind)
        texts = hosts.split(",", -1)
        wrong(:several) if kind == :one && texts.size > 1
        texts = [""] if texts.empty?
        texts.map do |text|
          six, four, port = NODE.match(text)&.captures
          address = Address.new(six || four, (port || Addresses::PORTS[kind]).to_i)
          next address if Addresses.address?(address)

          raise Addresses::Wrong, "must name each host by a name or an address, as in #{EXAMPLES[kind]}"
        end
      end
    end
  end
end
