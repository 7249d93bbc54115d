# frozen_string_literal: true

require "did_you_mean/levenshtein"
require_relative "errors"
require_relative "payload"

module Pshub
  # A task's name as it is declared: +name:major.minor+.
  TaskName = Struct.new(:full, :name, :major, :minor)
  # As callers may shorten it: +name:1.0+, +name:1+ or +name+; what is missing is nil.
  CalledName = Struct.new(:name, :major, :minor)

  # Task names and their versions. PROTOCOL.md, section 3.
  module Names
    FULL = %r{\A([A-Za-z][A-Za-z0-9_./-]{0,99}):(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\z}
    CALLED = %r{\A([A-Za-z][A-Za-z0-9_./-]{0,99})(?::(0|[1-9][0-9]{0,5})(?:\.(0|[1-9][0-9]{0,5}))?)?\z}

    # Control characters are not in it.
    BUILD = /\A[^\p{Cc}]{1,64}\z/

    module_function

    # Which build of its program a worker runs: a text that its people chose.
    def build?(value)
      return false unless value.is_a?(String)

      text = Payload.utf8(value)
      text.valid_encoding? && BUILD.match?(text)
    end

    # nil for what is not a full name.
    def try_parse(full)
      match = full.is_a?(String) && full.valid_encoding? && FULL.match(full)
      TaskName.new(full, match[1], match[2].to_i, match[3].to_i) if match
    end

    def parse(full)
      form = "Write name:major.minor, as in 'resize_image:1.0' (a letter first, then letters, digits, and _ . / -)."
      try_parse(full) or raise ConfigError, "'#{full.to_s[0, 120]}' is not a task name. #{form}"
    end

    def parse_called(called)
      match = called.is_a?(String) && called.valid_encoding? && CALLED.match(called)
      CalledName.new(match[1], match[2]&.to_i, match[3]&.to_i) if match
    end

    # What to sort by.
    def newest_first(name) = [-name.major, -name.minor]

    # Those that look most like +called+, best first, at most three.
    def near(called, known)
      wanted = called.split(":").first.to_s.downcase
      scored = known.filter_map do |full|
        distance = distance_of(full.split(":").first.to_s.downcase, wanted)
        [distance, full] if distance <= [2, wanted.length / 3].max
      end
      scored.sort.first(3).map(&:last)
    end

    def distance_of(name, wanted)
      return 0 if name == wanted
      return 1 if name.include?(wanted) || wanted.include?(name)

      DidYouMean::Levenshtein.distance(name, wanted)
    end
  end
end
