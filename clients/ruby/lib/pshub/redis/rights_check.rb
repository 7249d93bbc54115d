# frozen_string_literal: true

require_relative "connection"
require_relative "rights"

module Pshub
  # What a Redis user may not do of what a caller or a worker needs.
  module RightsCheck
    # What follows a command's key, where a command without it would not be one.
    REST = {
      "BLPOP" => %w[1], "HDEL" => %w[_], "HGET" => %w[_], "HMGET" => %w[_], "HSET" => %w[_ _], "HSTRLEN" => %w[_],
      "LPOP" => %w[1], "LPOS" => %w[_], "LPUSH" => %w[_], "LRANGE" => %w[0 0], "LREM" => %w[1 _], "LTRIM" => %w[0 0],
      "PEXPIRE" => %w[1], "RPUSH" => %w[_], "SET" => %w[_ PX 1 GET], "ZADD" => %w[0 _], "ZRANGE" => %w[0 0], "ZRANGEBYSCORE" => %w[0 0],
      "ZREM" => %w[_], "ZREMRANGEBYRANK" => %w[0 0], "ZREMRANGEBYSCORE" => %w[0 0], "ZSCORE" => %w[_]
    }.freeze
    KEYLESS = { "EVAL" => ["EVAL", "return 1", "0"], "EVALSHA" => %w[EVALSHA _ 0], "TIME" => %w[TIME] }.freeze

    # Redis itself says whether the user may: this runs nothing and leaves no trace in the server's log of denials.
    ASK = <<~LUA
      local denied, at, probe = {}, 1, 1
      while at <= #ARGV do
        local count = tonumber(ARGV[at])
        if not redis.acl_check_cmd(unpack(ARGV, at + 1, at + count)) then denied[#denied + 1] = probe end
        at, probe = at + count + 1, probe + 1
      end
      return denied
    LUA

    module_function

    # What the connected user lacks for :hub or :worker, as text; nil when it may do everything. Raises ReplyError.
    def missing(connection, role, keys, queue)
      probes = Rights.uses(role, keys, queue).flat_map { |use| probes_of(use) }
      answer = connection.one("EVAL", ASK, 0, *probes.flat_map { |_, _, words| [words.size, *words] })
      denied = answer.map { |position| probes[position - 1] }.group_by { |_, key, _| key }
      return nil if denied.empty?

      denied.map { |key, rows| [rows.map(&:first).join(" "), *("on #{key}" if key)].join(" ") }.join(", ")
    rescue ReplyError => e
      raise unless e.message.start_with?("NOPERM")

      "EVAL"
    end

    def probes_of(use)
      own = use.commands.map do |command|
        next [command, nil, KEYLESS.fetch(command)] unless use.key
        next [command, use.key, [command, use.key, use.key, "LEFT", "RIGHT", "1"]] if command == "BLMOVE"

        [command, use.key, [command, use.key, *REST[command]]]
      end
      use.script ? [["EVAL", use.key, ["EVAL", "return 1", "1", use.key]], *own] : own
    end
  end
end
