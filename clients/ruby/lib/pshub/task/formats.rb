# frozen_string_literal: true

require "date"
require_relative "pattern"

module Pshub
  # The formats of PROTOCOL.md, section 9.3, as their RFCs have them. They are spelled out here and in every client, because libraries
  # differ in what they let pass, and a call that one language takes must not be refused by another.
  module Formats
    octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
    ipv4 = "(?:#{octet}\\.){3}#{octet}"

    piece = "[0-9A-Fa-f]{1,4}"
    last_two = "(?:#{piece}:#{piece}|#{ipv4})"
    up_to = ->(pieces) { "(?:(?:#{piece}:){0,#{pieces - 1}}#{piece})?" }
    ipv6 = [
      "(?:#{piece}:){6}#{last_two}",
      "::(?:#{piece}:){5}#{last_two}",
      *(1..5).map { |before| "#{up_to[before]}::(?:#{piece}:){#{5 - before}}#{last_two}" },
      "#{up_to[6]}::#{piece}",
      "#{up_to[7]}::"
    ].join("|")

    label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    hostname = "#{label}(?:\\.#{label})*"

    word = "[A-Za-z0-9!\#$%&'*+/=?^_`{|}~-]+"
    quoted = '"(?:[ !#-\[\]-~]|\\\\[ -~])*"'
    email = "(?:#{word}(?:\\.#{word})*|#{quoted})@(?:#{hostname}|\\[(?:#{ipv4}|IPv6:(?:#{ipv6}))\\])"

    escaped = "%[0-9A-Fa-f]{2}"
    plain = "A-Za-z0-9._~!$&'()*+,;="
    letter = "(?:[#{plain}:@-]|#{escaped})"
    host = "(?:\\[(?:#{ipv6}|[Vv][0-9A-Fa-f]+\\.[#{plain}:-]+)\\]|(?:[#{plain}-]|#{escaped})*)"
    authority = "(?:(?:[#{plain}:-]|#{escaped})*@)?#{host}(?::[0-9]*)?"
    absolute = "//#{authority}(?:/#{letter}*)*|/(?:#{letter}+(?:/#{letter}*)*)?"
    tail = "(?:\\?(?:#{letter}|[/?])*)?(?:#(?:#{letter}|[/?])*)?"
    uri = "[A-Za-z][A-Za-z0-9+.-]*:(?:#{absolute}|#{letter}+(?:/#{letter}*)*)?#{tail}"
    # The first step of a relative path has no colon: it would be a scheme.
    relative = "(?:#{absolute}|(?:[#{plain}@-]|#{escaped})+(?:/#{letter}*)*)?#{tail}"

    name = "(?:[A-Za-z0-9_]|#{escaped})+(?:\\.(?:[A-Za-z0-9_]|#{escaped})+)*(?::[1-9][0-9]{0,3}|\\*)?"
    template = "(?:[^\\u{0}-\\u{20}\"'<>%\\\\^`{|}]|#{escaped}|\\{[+#./;?&=,!@|]?#{name}(?:,#{name})*\\})*"

    pointer = "(?:/(?:[^~/]|~[01])*)*"
    of_day = "(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?"
    of_time = "(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+S)?)?"

    HOSTNAME = /\A(?:#{hostname})\z/
    TIME = /\A([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)(?:\.[0-9]+)?(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))\z/

    whole = ->(pattern) { /\A(?:#{pattern})\z/.method(:match?) }

    def self.date?(text)
      text.match?(/\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z/) && Date.valid_date?(*text.split("-").map { |part| Integer(part, 10) }, Date::GREGORIAN)
    end

    def self.time?(text)
      parts = TIME.match(text)
      return !parts.nil? unless parts && parts[3] == "60"

      # A leap second is the last one of a day in UTC.
      offset = ((parts[5].to_i * 60) + parts[6].to_i) * (parts[4] == "-" ? -1 : 1)
      ((parts[1].to_i * 60) + parts[2].to_i - offset) % 1440 == 1439
    end

    def self.pattern?(text)
      Pattern.regexp(text)
      true
    rescue Pattern::Wrong
      false
    rescue Pattern::Beyond
      true
    end

    CHECKS = {
      "date" => method(:date?),
      "time" => method(:time?),
      "date-time" => ->(text) { date?(text[0, 10]) && %w[T t].include?(text[10]) && time?(text[11..]) },
      "duration" => whole["P(?!\\z)(?:#{of_day}#{of_time}|[0-9]+W)"],
      "email" => whole[email],
      "hostname" => ->(text) { text.length <= 253 && HOSTNAME.match?(text) },
      "ipv4" => whole[ipv4],
      "ipv6" => whole[ipv6],
      "uri" => whole[uri],
      "uri-reference" => whole["#{uri}|#{relative}"],
      "uri-template" => whole[template],
      "uuid" => whole["[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"],
      "json-pointer" => whole[pointer],
      "relative-json-pointer" => whole["(?:0|[1-9][0-9]*)(?:#|#{pointer})"],
      "regex" => method(:pattern?)
    }.freeze

    # Formats that are not among these say nothing.
    def self.known?(name) = CHECKS.key?(name)
    def self.fits?(name, text) = CHECKS.fetch(name) { return true }.call(text)
  end
end
