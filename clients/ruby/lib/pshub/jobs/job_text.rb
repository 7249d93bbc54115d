# frozen_string_literal: true

require "json"
require_relative "../wire/job_part"
require_relative "../wire/payload"

module Pshub
  # Jobs as texts that lie in Redis already: made into others without decoding and encoding their arguments again.
  module JobText
    HEAD = /\A\{"at":([0-9]+),"ttl":([0-9]+),("id":"[A-Za-z0-9_-]+",)("job":(?=\{))?/
    BEFORE_ARGS = /\A"task":"(?:[^"\\]|\\.)*","args":/
    LOSSES = /,"losses":[0-9]+\}\z/
    TRIES = /\A\{"tries":[0-9]+/
    STEP = /"(?:[^"\\]|\\.)*"|[{}\[\],]/m
    # When it was to begin, and the token of its run.
    TIMES = %w[delay due fence].freeze

    # +id+ and its comma, what it carries beside its arguments, or nil, and all behind that.
    Parts = Struct.new(:at, :ttl, :id, :part, :rest) do
      def message(ttl_ms) = %("ttl":#{ttl_ms},#{id}#{%("job":#{part},) if part}#{rest})
    end

    module_function

    # A dead job as it is enqueued again: wanted for ever, its tries counted anew, its failures still there. +args+: JSON in the place of
    # its own, or nil.
    def revived(dead, args = nil)
      dead = Payload.utf8(dead)
      # What was buried has such a beginning; what somebody else put there goes as it is.
      parts = split(dead) or return without_brace(dead)
      parts.part = parts.part&.sub(TRIES, '{"tries":0')
      rest = parts.rest.sub(LOSSES, "}")
      before = args && rest[BEFORE_ARGS]
      parts.rest = before ? "#{before}#{args}#{rest[end_of_value(rest, before.length)..]}" : rest
      parts.message(0)
    end

    # A job that waits for its time or its next try, as it is taken at once: its tries and failures stay.
    def hastened(lying)
      lying = Payload.utf8(lying)
      parts = split(lying) or return without_brace(lying)
      parts.part = parts.part && without_times(parts.part)
      parts.message(parts.ttl)
    end

    # A job that was claimed, as it is put into another shard at +now_us+: due at once, without the token that the claim gave it.
    def moved(claimed, now_us)
      claimed = Payload.utf8(claimed)
      parts = split(claimed) or return without_brace(claimed)
      parts.part = parts.part && without_times(parts.part)
      left_ms = (parts.ttl - ((now_us - parts.at) / 1000.0)).floor
      parts.message(parts.ttl.zero? ? 0 : [1, left_ms].max)
    end

    # nil for one that does not begin as those do that were enqueued.
    def split(text)
      head = HEAD.match(text) or return nil
      at, ttl, id, has_part = head.captures
      rest = head.post_match
      behind = has_part && end_of_value(rest, 0)
      Parts.new(at.to_i, ttl.to_i, id, behind && rest[0...behind], behind ? rest[(behind + 1)..] : rest)
    end

    def without_brace(text) = text.sub(/\A\s*\{/, "")

    def without_times(part)
      carried = JSON.parse(part, create_additions: false)
      TIMES.any? { |name| carried.key?(name) } ? JobPart.text(carried.except(*TIMES)) : part
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
