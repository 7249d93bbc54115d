# frozen_string_literal: true

module Pshub
  # As Redis answers.
  class RedisError < StandardError; end

  # What a Redis answers, in RESP 2.
  module Replies
    module_function

    # The one answer in there. Raises RedisError for one that is an error.
    def read(bytes)
      reply, = reply_at(bytes, 0)
      reply.is_a?(RedisError) ? raise(reply) : reply
    end

    def reply_at(bytes, at)
      finish = bytes.index("\r\n", at)
      mark, line, at = bytes[at], bytes[(at + 1)...finish], finish + 2
      return [nil, at] if line == "-1" && mark != ":"

      case mark
      when ":" then [line.to_i, at]
      when "$" then [text_of(bytes[at, line.to_i]), at + line.to_i + 2]
      when "*"
        items = Array.new(line.to_i) do
          item, at = reply_at(bytes, at)
          item
        end
        [items, at]
      else [mark == "-" ? RedisError.new(line) : line, at]
      end
    end

    def text_of(bytes)
      text = bytes.dup.force_encoding(Encoding::UTF_8)
      text.valid_encoding? ? text : bytes
    end
  end
end
