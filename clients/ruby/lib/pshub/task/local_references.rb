# frozen_string_literal: true

require "uri"
require_relative "../wire/payload"
require_relative "schema_keywords"

module Pshub
  # What the references of a schema lead to: pointers, whether they name something in it by a pointer, by an anchor, by the $id of the
  # whole or by the $id of a part.
  class LocalReferences
    # Where a part is, and where the resource begins that its references count from.
    Place = Struct.new(:pointer, :resource, :address) do
      def at(pointer) = Place.new(pointer, resource, address)
    end
    # What a reference counts from while nothing has an address: no host can have this name (RFC 2606).
    WHOLE = Place.new("", "", "http://schema.invalid/").freeze

    def initialize(schema)
      @names = {}
      @resources = { WHOLE.address => "" }
      visit(schema, WHOLE)
    end

    # Nil: it leads out of the schema, or to no anchor.
    def pointer_of(reference, place)
      document, fragment = absolute(reference, place.address)&.split("#", 2)
      resource = @resources[document]
      return if resource.nil?

      inside = decoded(fragment || "")
      inside.empty? || inside.start_with?("/") ? resource + inside : @names["#{resource}##{inside}"]
    end

    def place_of(schema, outer)
      address = absolute(schema["$id"], outer.address)&.sub(/#.*\z/m, "") if schema["$id"].is_a?(String)
      address.nil? ? outer : Place.new(outer.pointer, outer.pointer, address)
    end

    private

    def visit(schema, outer)
      return unless schema.is_a?(Hash)

      place = place_of(schema, outer)
      @resources[place.address] = place.pointer unless place.equal?(outer)
      schema.values_at("$anchor", "$dynamicAnchor").grep(String) { |name| @names["#{place.resource}##{name}"] = place.pointer }
      schema.each { |keyword, value| parts_of(keyword, value).each { |step, inner| visit(inner, place.at(place.pointer + step)) } }
    end

    # The schemas under a keyword, by the steps to them.
    def parts_of(keyword, value)
      at = "/#{Payload.escape(keyword)}"
      return { at => value } if SchemaKeywords::ONE.include?(keyword)
      return value.each_with_index.to_h { |one, i| ["#{at}/#{i}", one] } if SchemaKeywords::LISTS.include?(keyword) && value.is_a?(Array)
      return {} unless SchemaKeywords::NAMED.include?(keyword) && value.is_a?(Hash)

      value.to_h { |name, one| ["#{at}/#{Payload.escape(name)}", one] }
    end

    def decoded(fragment)
      fragment.gsub(/(?:%\h\h)+/) { |escaped| [escaped.delete("%")].pack("H*").force_encoding("UTF-8") }
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
