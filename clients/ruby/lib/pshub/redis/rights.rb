# frozen_string_literal: true

module Pshub
  # What a caller and a worker need to be allowed by Redis. PROTOCOL.md, section 14.
  module Rights
    # A key (nil for what concerns none), whether it is given to a script, and the commands.
    Use = Struct.new(:key, :script, :commands)

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
  end
end
