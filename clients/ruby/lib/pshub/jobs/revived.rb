# frozen_string_literal: true

require_relative "../wire/payload"

module Pshub
  # Dead jobs as they are enqueued again.
  module Revived
    HEAD = /\A\{"at":[0-9]+,"ttl":[0-9]+,("id":"[A-Za-z0-9_-]+",)("job":(?=\{))?/.freeze
    BEFORE_ARGS = /\A"task":"(?:[^"\\]|\\.)*","args":/.freeze
    LOSSES = /,"losses":[0-9]+\}\z/.freeze
    TRIES = /\A\{"tries":[0-9]+/.freeze
    STEP = /"(?:[^"\\]|\\.)*"|[{}\[\],]/m.freeze

    module_function

    # Wanted for ever, its tries counted anew, its failures still there. Made of its text, so that its arguments are not decoded and
    # encoded again. +args+: JSON in the place of its own, or nil.
    def message(dead, args = nil)
      dead = Payload.utf8(dead)
      head = HEAD.match(dead)
      # What was buried has such a beginning; what somebody else put there goes as it is.
      return dead.sub(/\A\s*\{/, "") unless head

      rest = head.post_match
      if head[2]
        behind = end_of_value(rest, 0)
        part = rest[0...behind].sub(TRIES, '{"tries":0')
        rest = rest[(behind + 1)..]
      end
      rest = rest.sub(LOSSES, "}")
      before = args && rest[BEFORE_ARGS]
      rest = "#{before}#{args}#{rest[end_of_value(rest, before.length)..]}" if before
      %("ttl":0,#{head[1]}#{%("job":#{part},) if part}#{rest})
    end

    # Where a value that begins there ends, in text that is JSON.
    def end_of_value(text, start)
      depth = 0
      while (step = STEP.match(text, start))
        case step[0]
        when "{", "[" then depth += 1
        when "}", "]", ","
          return step.begin(0) if depth.zero?
          return step.end(0) if step[0] != "," && (depth -= 1).zero?
        end
        start = step.end(0)
      end
      text.length
    end
  end
end
