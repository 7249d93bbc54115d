# frozen_string_literal: true

require "json"
require_relative "errors"
require_relative "foreign"
require_relative "payload"

module Pshub
  # Progress of a handler: +done+ units of +total+ (nil if unknown); +message+ is for people.
  Progress = Struct.new(:done, :total, :message, keyword_init: true) do
    def json = Payload.compact(to_h.compact)
  end

  # What a request asks for beside its reply: +window+ is how many chunks may lie untaken, 0 where the caller wants none.
  Asked = Struct.new(:window, :progress) do
    # Members of a request; empty where nothing is asked for.
    def text = "#{%(,"stream":#{window}) if window.positive?}#{',"progress":true' if progress}"
  end

  # What comes to a caller's reply list before the reply, where its request asks for that. PROTOCOL.md, section 9.10.
  module Streams
    # What hubs ask for.
    WINDOW = 256
    MOST_WINDOW = 65_536
    # A caller says so long what it has taken before the worker takes it for gone; it says so again every TAKEN_AGAIN_S.
    TAKEN_MS = 10_000
    TAKEN_AGAIN_S = 3.0
    LONGEST_MESSAGE = 200
    LONGEST_TEXT = 4096

    module_function

    # nil for a request that asks for nothing, as nearly all do.
    def asked(message)
      stream, progress = message.values_at("stream", "progress")
      window = Payload.whole?(stream) && stream.positive? ? [stream.to_i, MOST_WINDOW].min : 0
      Asked.new(window, progress == true) if window.positive? || progress == true
    end

    def chunk(id, number, value_json) = %({"id":"#{id}","chunk":#{number},"value":#{value_json}})
    def progress(id, progress) = %({"id":"#{id}","progress":#{progress.json}})

    # A chunk, or a progress; nil for what is neither.
    def part(element)
      id, number = element.values_at("id", "chunk")
      if Foreign.count?(number, (2**53) - 1) && number.positive?
        return element.key?("value") ? { "id" => id, "chunk" => number.to_i, "value" => element["value"] } : nil
      end

      progress = read_progress(element["progress"])
      progress && { "id" => id, "progress" => progress }
    end

    # What anybody wrote as a progress; nil for what is none.
    def read_progress(value)
      return nil unless value.is_a?(Hash) && Foreign.amount?(value["done"])

      total, message = value.values_at("total", "message")
      Progress.new(done: value["done"], total: (total if Foreign.amount?(total)),
                   message: (message[0, LONGEST_MESSAGE] if message.is_a?(String)))
    end

    def read_progress_text(raw)
      return nil unless raw.is_a?(String) && raw.bytesize <= LONGEST_TEXT

      read_progress(JSON.parse(Payload.utf8(raw), create_additions: false))
    rescue JSON::JSONError, EncodingError
      nil
    end

    # Raises ConfigError for what is no progress.
    def check_progress(done, total, message)
      { "done" => done, "total" => total }.each do |name, value|
        next if Foreign.amount?(value) || (value.nil? && name == "total")

        raise ConfigError, "ctx.progress: #{name} must be a number of at least 0, not #{value.inspect[0, 80]}."
      end
      unless message.nil? || message.is_a?(String)
        raise ConfigError, "ctx.progress: message must be a string, not #{message.inspect[0, 80]}."
      end

      Progress.new(done: done, total: total, message: message && message[0, LONGEST_MESSAGE])
    end
  end
end
