# frozen_string_literal: true

module Pshub
  # What a Redis user may not do of what a caller or a worker needs, and what else makes a server unfit. PROTOCOL.md, section 14.
  module Rights
    # A key (nil for what concerns none), whether it is given to a script, and the commands.
    Use = Struct.new(:key, :script, :commands)

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

    def uses(role, keys, queue)
      of = keys.queue(queue)
      rows = role == :hub ? hub_uses(keys, of) : worker_uses(keys, of)
      rows.map { |key, script, commands| Use.new(key, script, commands.split) }
    end

    def hub_uses(keys, of)
      [
        [nil, false, "EVAL EVALSHA TIME"], [keys.tasks, false, "HKEYS HMGET HSTRLEN"],
        [keys.workers, false, "HMGET HSTRLEN"], [keys.stats, false, "HMGET HSTRLEN"], [of.leases, false, "ZRANGEBYSCORE"], [of.calls, true, "LLEN LPOS LREM RPUSH"],
        [of.bell, true, "LLEN RPUSH"], [of.pushed("*"), true, "SET UNLINK"], [of.cancelled, true, "PEXPIRE ZADD"],
        [keys.reply("*"), false, "BLMOVE LRANGE LTRIM UNLINK"], [keys.read("*"), false, "BLMOVE LRANGE LTRIM PEXPIRE UNLINK"]
      ]
    end

    def worker_uses(keys, of)
      [
        [nil, false, "EVAL EVALSHA TIME"], [keys.tasks, true, "HDEL HGET HKEYS HMGET HSET HSTRLEN"],
        [keys.workers, false, "HDEL HMGET HSET HSTRLEN"], [keys.stats, false, "HDEL HKEYS HMGET HSET HSTRLEN"], [keys.task_stats, false, "HDEL HSET"], [keys.slow, false, "HDEL"],
        [keys.failures, false, "HDEL HSET"],
        [of.leases, true, "ZADD ZRANGEBYSCORE ZREM ZREMRANGEBYSCORE ZSCORE"], [of.calls, true, "LLEN LPOP LPUSH RPUSH"],
        [of.bell, true, "BLPOP DEL LLEN RPUSH"], [of.jobs, true, "LLEN LPOP LPUSH RPUSH"], [of.job_bell, true, "DEL LLEN RPUSH"],
        [of.dead, false, "ZADD ZREMRANGEBYRANK"], [of.reporter, true, "DEL GET"], [of.paused, true, "GET"],
        [of.cancelled, true, "ZRANGE ZREMRANGEBYSCORE"],
        [of.held("*"), true, "HDEL HGET HKEYS HLEN HRANDFIELD HSET"], [keys.reply("*"), true, "PEXPIRE RPUSH"]
      ]
    end

    # What the connected user lacks for :hub or :worker, as text; nil when it may do everything. Raises ReplyError.
    def missing(connection, role, keys, queue)
      probes = uses(role, keys, queue).flat_map { |use| probes_of(use) }
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

    # What makes this server unfit for a worker of the queue, one sentence each. What it does not tell is no reason.
    def unfit(connection, keys, queue)
      reasons = server_reasons(info(connection))
      begin
        lacks = missing(connection, :worker, keys, queue)
      rescue ReplyError
        lacks = nil
      end
      reasons << "this user may not serve a queue: it lacks #{lacks}. See 'pshub check --for worker'" if lacks
      reasons
    end

    def info(connection)
      text = connection.one("INFO")
      text.lines.filter_map { |line| line.chomp.split(":", 2) if line.include?(":") && !line.start_with?("#") }.to_h
    rescue ReplyError
      {}
    end

    def server_reasons(info)
      version, role, policy = info.fetch("redis_version", "7"), info.fetch("role", "master"), info["maxmemory_policy"]
      reasons = []
      if !info.key?("valkey_version") && version.to_i < 7
        reasons << "Redis #{version} is too old; 7.0 or newer is needed"
      end
      reasons << "this server is a #{role}, which refuses writes; connect to its master" if role != "master"
      if policy && policy != "noeviction"
        reasons << "maxmemory-policy is #{policy}: a full server would silently drop requests. " \
                   "Set it with: redis-cli config set maxmemory-policy noeviction"
      end
      if [info["redis_mode"], info["server_mode"]].include?("cluster")
        reasons << "this is a Cluster node; this version of pshub does not connect to Clusters"
      end
      reasons
    end
  end
end
