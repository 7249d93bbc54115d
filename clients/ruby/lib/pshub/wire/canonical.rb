# frozen_string_literal: true

require "digest/sha2"
require_relative "payload"

module Pshub
  # Values as RFC 8785 (JSON Canonicalization Scheme) writes them, but integers beyond 2^53 - 1 with all their digits: the same text in all
  # languages, in whatever order keys were written.
  module Canonical
    FIRST_INEXACT = 2**53

    module_function

    # The same for arguments that are the same: 22 characters of a SHA-256. +args_json+ is JSON.
    def digest(args_json) = Digest::SHA256.base64digest(text_of(args_json)).tr("+/", "-_")[0, 22]

    def text_of(json) = text(Payload.decode(json))

    # Without +exact+ as RFC 8785 has it, where every number is a double: so JavaScript reads the schemas of a declaration.
    def text(value, exact: true)
      case value
      when Array then "[#{value.map { |each| text(each, exact: exact) }.join(',')}]"
      when Hash
        fields = value.sort_by { |key, _| key.encode(Encoding::UTF_16BE).b }
        "{#{fields.map { |key, inner| "#{Payload.compact(key)}:#{text(inner, exact: exact)}" }.join(',')}}"
      when Integer then exact && value.abs >= FIRST_INEXACT ? value.to_s : number(value.to_f)
      when Numeric then number(value.to_f)
      else Payload.compact(value)
      end
    end

    # As ECMAScript writes it: every number is a double there.
    def number(value)
      return "null" unless value.finite?
      return "0" if value.zero?

      sign, digits, point = parts(value)
      count = digits.length
      return "#{sign}#{digits}#{'0' * (point - count)}" if point.between?(count, 21)
      return "#{sign}#{digits[0, point]}.#{digits[point..]}" if point.between?(1, 21)
      return "#{sign}0.#{'0' * -point}#{digits}" if point.between?(-5, 0)

      exponent = point - 1
      mantissa = count == 1 ? digits : "#{digits[0]}.#{digits[1..]}"
      "#{sign}#{mantissa}e#{'+' if exponent.positive?}#{exponent}"
    end

    # Its sign, its shortest digits, and how many of them are ahead of the point.
    def parts(value)
      mantissa, exponent = value.abs.to_s.split("e")
      whole, fraction = mantissa.split(".")
      fraction = "" if fraction.nil? || fraction == "0"
      all = whole + fraction
      digits = all.sub(/\A0+/, "")
      point = whole.length - (all.length - digits.length) + exponent.to_i
      [value.negative? ? "-" : "", digits.sub(/0+\z/, ""), point]
    end
  end
end
