# frozen_string_literal: true

module Pshub
  # Keywords that meant something else in older drafts, or that this draft knows by another name: they would be misread, or passed
  # over in silence.
  module OlderDrafts
    # Drafts whose schemas are read as of 2020-12, which changed little of what most are made of.
    KNOWN = %r{\Ahttps?://json-schema\.org/(draft-0[467]/schema|draft/(2019-09|2020-12)/schema)#?\z}

    # What is written as an older draft had it, and what to write instead; nil: nothing.
    def self.why(keyword, value)
      case keyword
      when "$schema" then why_not_known(value)
      when "$id" then "'$id' beginning with # is of an older draft: use '$anchor', without the #" if value.to_s.start_with?("#")
      when "items"
        "a list under 'items' is of an older draft: use 'prefixItems', and 'items' for what follows" if value.is_a?(Array)
      when "exclusiveMinimum", "exclusiveMaximum" then why_no_number(keyword, value)
      when "dependencies" then "'dependencies' is of an older draft: use 'dependentRequired' or 'dependentSchemas'"
      when "$recursiveRef" then "'$recursiveRef' is of an older draft: use '$dynamicRef', or '$ref'"
      end
    end

    def self.why_not_known(value)
      return if !value.is_a?(String) || KNOWN.match?(value)

      "its $schema #{value[0, 100].inspect} is no draft of JSON Schema that is known here: leave it out, or name " \
        "https://json-schema.org/draft/2020-12/schema"
    end

    def self.why_no_number(keyword, value)
      return unless [true, false].include?(value)

      "'#{keyword}' that is true or false is of an older draft: give it the number itself, in place of " \
        "'#{keyword.delete_prefix('exclusive').downcase}'"
    end
    private_class_method :why_not_known, :why_no_number
  end
end
