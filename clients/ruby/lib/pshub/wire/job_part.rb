# frozen_string_literal: true

require "json"
require_relative "errors"
require_relative "foreign"
require_relative "payload"

module Pshub
  # What a job carries beside its arguments: the +job+ of its message, right behind the id, where functions in Redis read it and note
  # failures in it. No text in it has a brace or a bracket of its own (they are escaped), so that they find its end. Here it is a hash
  # with the members of PROTOCOL.md, section 5.1, under the names that they have there.
  module JobPart
    # A key of a run, how often its runs have failed so far, and how many payloads it took of it.
    RunKey = Struct.new(:key, :tries, :count)

    KEYED = %w[ordered merged].freeze
    KINDS = %w[exponential polynomial].freeze
    # What +backoff+ may be, for people.
    BACKOFF_KINDS = "'exponential', 'polynomial', a number of milliseconds or an array of them"
    BRACKETS = /[{}\[\]]/
    MAX_FAILURES = 10
    MAX_FAILURE_MESSAGE = 500
    MAX_UNIQUE = 256
    # Bytes of UTF-8.
    MAX_KEY_BYTES = 200
    # Ten years: longer waits are a mistake.
    LONGEST_WAIT_MS = 10 * 365 * 24 * 3600 * 1000
    MAX_SAFE_INTEGER = (2**53) - 1

    module_function

    # As it travels.
    def text(part) = without_brackets(JSON.generate(whole(part)))

    # A failure as functions in Redis take it: JSON without its braces, to which they add the time.
    def failure_text(code, message, status = nil)
      told = { "code" => code, "message" => whole(message)[0, MAX_FAILURE_MESSAGE], "status" => status }.compact
      without_brackets(JSON.generate(told))[1..-2]
    end

    # Braces and brackets inside the texts of some JSON, as escapes.
    def without_brackets(json)
      json.gsub(Payload::STRINGS) { |text| text.gsub(BRACKETS) { |char| format("\\u00%<code>x", code: char.ord) } }
    end

    # With nothing in its texts that the JSON reader in Redis refuses.
    def whole(value)
      case value
      when String then value.scrub
      when Array then value.map { |each| whole(each) }
      when Hash then value.to_h { |key, each| [key, whole(each)] }
      else value
      end
    end

    # What others wrote there, as far as it can be used.
    def read(value)
      given = value.is_a?(Hash) ? value : {}
      {
        "tries" => count(given["tries"]) || 0, "errors" => failures(given["errors"]),
        "retries" => count(given["retries"]), "backoff" => backoff(given["backoff"]), "delay" => wait(given["delay"]),
        "due" => count(given["due"], MAX_SAFE_INTEGER), "priority" => (given["priority"] if %w[high low].include?(given["priority"])),
        "keep" => wait(given["keep"]), "unique" => short(given["unique"], MAX_UNIQUE), "uniqueMs" => wait(given["uniqueMs"]),
        "until" => ("started" if given["until"] == "started"), "key" => (given["key"] if given["key"].is_a?(String)),
        "merged" => (true if given["merged"] == true), "score" => (given["score"] if score?(given["score"])),
        "scores" => ("first" if given["scores"] == "first"), "run" => run_keys(given["run"]),
        "fence" => count(given["fence"], MAX_SAFE_INTEGER), "since" => count(given["since"], MAX_SAFE_INTEGER), "batch" => short(given["batch"], 130),
        "chain" => short(given["chain"], 64), "step" => count(given["step"]), "steps" => steps(given["steps"])
      }.compact
    end

    # Queue and task of the steps of a chain; nil for what is none.
    def steps(value)
      return nil unless value.is_a?(Array)

      read = value.select { |each| each.is_a?(Array) && each[0].is_a?(String) && each[1].is_a?(String) }
      read.map { |each| each.first(2) } if read.size == value.size
    end

    # A failure as it is noted, in a list of its own; an empty one for what is none.
    def failure(value)
      return [] unless value.is_a?(Hash)

      at = count(value["at"], 8_640_000_000_000_000) || 0
      told = { "code" => Foreign.text(value["code"], 64), "message" => Foreign.text(value["message"], MAX_FAILURE_MESSAGE) }
      chosen = Errors.failed_status?(value["status"]) ? { "status" => value["status"].to_i } : {}
      [{ "at" => at, **told, **chosen }]
    end

    # Of a run: [[key, tries, [bytes, score, ...]], ...]; nil for what is none.
    def run_keys(value)
      return nil unless value.is_a?(Array)

      keys = value.select { |each| each.is_a?(Array) && each[0].is_a?(String) && each[2].is_a?(Array) }
      keys.map { |key, tries, sizes| RunKey.new(key, count(tries) || 0, sizes.size / 2) }
    end

    # Whether it says how the jobs of a task with the same key are run: +ordered+, one after the other; +merged+, those that wait together.
    def keyed?(value) = KEYED.include?(value)

    # Whether payloads can be told apart by it.
    def score?(value) = value.is_a?(Numeric) && value.real? && value.to_f.finite?

    def wait?(value, most = LONGEST_WAIT_MS) = Foreign.count?(value, most)

    def backoff?(value)
      KINDS.include?(value) || wait?(value) ||
        (value.is_a?(Array) && value.size.between?(1, 100) && value.all? { |each| wait?(each) })
    end

    # What is left are readers of one member each; nil for what cannot be used. A number without a fraction is written without one.

    def count(value, most = Foreign::MAX_COUNT) = (value.to_i if Foreign.count?(value, most))
    def wait(value) = count(value, LONGEST_WAIT_MS)
    def short(value, most) = (value if value.is_a?(String) && value.length <= most)
    def failures(value) = value.is_a?(Array) ? value.last(MAX_FAILURES).flat_map { |each| failure(each) } : []

    def backoff(value)
      return nil unless backoff?(value)

      value.is_a?(Array) ? value.map(&:to_i) : wait(value) || value
    end
  end
end
