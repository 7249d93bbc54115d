# frozen_string_literal: true

require "uri"
require_relative "../wire/payload"

module Pshub
  # A schema with each reference to something in it written as a pointer, whether it named that by an anchor, by the $id of the
  # whole or by the $id of a part; the names themselves are gone. References that lead elsewhere stay as they are.
  class LocalReferences
    # Keywords whose values are schemas: one, a list of them, or a hash of them by name.
    ONE = %w[additionalProperties propertyNames items contains not if then else].freeze
    LISTS = %w[prefixItems allOf anyOf oneOf].freeze
    NAMED = %w[properties patternProperties dependentSchemas $defs definitions].freeze
    # What a reference counts from while nothing has an address: no host can have this name (RFC 2606).
    NOWHERE = "http://schema.invalid/"

    # Where a part is, and where the resource begins that its references count from.
    Place = Struct.new(:pointer, :resource, :address)

    def self.of(schema) = new.of(schema)

    def of(schema)
      @names = {}
      @resources = { NOWHERE => "" }
      start = Place.new("", "", NOWHERE)
      visit(schema, start) do |part, place|
        @resources[place.address] = place.pointer if address?(part)
        @names["#{place.resource}##{part['$anchor']}"] = place.pointer if part["$anchor"].is_a?(String)
        part
      end
      return schema if @names.empty? && @resources.size == 1

      visit(schema, start) { |part, place| rewritten(part, place) }
    end

    private

    def rewritten(part, place)
      rest = address?(part) ? part.except("$id", "$anchor") : part.except("$anchor")
      pointer = part["$ref"].is_a?(String) ? pointer_of(part["$ref"], place) : nil
      pointer.nil? ? rest : rest.merge("$ref" => "##{pointer.gsub('%', '%25')}")
    end

    def pointer_of(reference, place)
      document, fragment = absolute(reference, place.address)&.split("#", 2)
      resource = @resources[document]
      return if resource.nil?

      inside = decoded(fragment || "")
      inside.empty? || inside.start_with?("/") ? resource + inside : @names["#{resource}##{inside}"]
    end

    def decoded(fragment)
      fragment.gsub(/(?:%\h\h)+/) { |escaped| [escaped.delete("%")].pack("H*").force_encoding("UTF-8") }
    end

    # A copy, with what the block makes of each schema in it.
    def visit(schema, outer, &block)
      return schema unless schema.is_a?(Hash)

      place = place_of(schema, outer)
      block.call(schema, place).to_h do |keyword, value|
        inside = ->(inner, step) { visit(inner, Place.new("#{place.pointer}/#{step}", place.resource, place.address), &block) }
        [keyword, parts_of(keyword, value, inside)]
      end
    end

    def parts_of(keyword, value, inside)
      at = Payload.escape(keyword)
      return inside.call(value, at) if ONE.include?(keyword)
      return value.each_with_index.map { |one, i| inside.call(one, "#{at}/#{i}") } if LISTS.include?(keyword) && value.is_a?(Array)
      return value unless NAMED.include?(keyword) && value.is_a?(Hash)

      value.to_h { |name, one| [name, inside.call(one, "#{at}/#{Payload.escape(name)}")] }
    end

    # What begins with # is a name of older drafts, which are refused.
    def address?(part) = part["$id"].is_a?(String) && !part["$id"].start_with?("#")

    def place_of(schema, outer)
      address = absolute(schema["$id"], outer.address)&.sub(/#.*\z/m, "") if address?(schema)
      address.nil? ? outer : Place.new(outer.pointer, outer.pointer, address)
    end

    def absolute(reference, address)
      return address + reference if reference.start_with?("#")

      target = URI.parse(reference)
      target.absolute? ? reference : URI.join(address, reference).to_s
    rescue URI::Error
      nil
    end
  end
end
