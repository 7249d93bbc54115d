"""What a Redis user may not do of what a caller or a worker needs. PROTOCOL.md, section 14.3."""

from __future__ import annotations

from typing import List, NamedTuple, Optional

from ..wire.keys import Keys


class Use(NamedTuple):
    #: None for what concerns no key.
    key: Optional[str]
    script: bool
    commands: str


def uses_of(role: str, keys: Keys, queue: str) -> List[Use]:
    of, any_id = keys.queue(queue), "*"
    if role == "hub":
        return [
            Use(None, False, "EVAL EVALSHA TIME"),
            Use(keys.tasks, False, "HKEYS HMGET HSTRLEN"),
            Use(keys.workers, False, "HMGET HSTRLEN"),
            Use(keys.stats, False, "HMGET HSTRLEN"),
            Use(of.leases, False, "ZRANGEBYSCORE"),
            Use(of.calls, True, "LLEN LPOS LREM RPUSH"),
            Use(of.bell, True, "LLEN RPUSH"),
            Use(of.pushed(any_id), True, "SET UNLINK"),
            Use(of.cancelled, True, "PEXPIRE ZADD"),
            Use(keys.reply(any_id), False, "BLMOVE LRANGE LTRIM UNLINK"),
            Use(keys.read(any_id), False, "BLMOVE LRANGE LTRIM PEXPIRE UNLINK"),
        ]
    return [
        Use(None, False, "EVAL EVALSHA TIME"),
        Use(keys.tasks, True, "HDEL HGET HKEYS HMGET HSET HSTRLEN"),
        Use(keys.workers, False, "HDEL HMGET HSET HSTRLEN"),
        Use(keys.stats, False, "HDEL HKEYS HMGET HSET HSTRLEN"),
        Use(keys.taskstats, False, "HDEL HSET"),
        Use(keys.slow, False, "HDEL"),
        Use(keys.failures, False, "HDEL HSET"),
        Use(of.leases, True, "ZADD ZRANGEBYSCORE ZREM ZREMRANGEBYSCORE ZSCORE"),
        Use(of.calls, True, "LLEN LPOP LPUSH RPUSH"),
        Use(of.bell, True, "BLPOP DEL LLEN RPUSH"),
        Use(of.jobs, True, "LLEN LPOP LPUSH RPUSH"),
        Use(of.job_bell, True, "DEL LLEN RPUSH"),
        Use(of.reporter, True, "DEL GET"),
        Use(of.paused, True, "GET"),
        Use(of.cancelled, True, "ZRANGE ZREMRANGEBYSCORE"),
        Use(of.held(any_id), True, "HDEL HGET HKEYS HLEN HRANDFIELD HSET"),
        Use(keys.reply(any_id), True, "PEXPIRE RPUSH"),
    ]
