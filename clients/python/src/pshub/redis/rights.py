"""What a Redis user may not do of what a caller or a worker needs. PROTOCOL.md, section 14.3."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional

from ..wire.keys import Keys
from .connection import Connection
from .refusals import ReplyError


class _Use(NamedTuple):
    #: None for what concerns no key.
    key: Optional[str]
    script: bool
    commands: str


def _uses(role: str, keys: Keys, queue: str) -> List[_Use]:
    of, any_id = keys.queue(queue), "*"
    if role == "hub":
        return [
            _Use(None, False, "EVAL EVALSHA TIME"),
            _Use(keys.tasks, False, "HKEYS HMGET HSTRLEN"),
            _Use(keys.workers, False, "HMGET HSTRLEN"),
            _Use(keys.stats, False, "HMGET HSTRLEN"),
            _Use(of.leases, False, "ZRANGEBYSCORE"),
            _Use(of.calls, True, "LLEN LPOS LREM RPUSH"),
            _Use(of.bell, True, "LLEN RPUSH"),
            _Use(of.pushed(any_id), True, "SET UNLINK"),
            _Use(of.cancelled, True, "PEXPIRE ZADD"),
            _Use(keys.reply(any_id), False, "BLMOVE LRANGE LTRIM UNLINK"),
            _Use(keys.read(any_id), False, "BLMOVE LRANGE LTRIM PEXPIRE UNLINK"),
        ]
    return [
        _Use(None, False, "EVAL EVALSHA TIME"),
        _Use(keys.tasks, True, "HDEL HGET HKEYS HMGET HSET HSTRLEN"),
        _Use(keys.workers, False, "HDEL HMGET HSET HSTRLEN"),
        _Use(keys.stats, False, "HDEL HKEYS HMGET HSET HSTRLEN"),
        _Use(keys.taskstats, False, "HDEL HSET"),
        _Use(keys.slow, False, "HDEL"),
        _Use(keys.failures, False, "HDEL HSET"),
        _Use(of.leases, True, "ZADD ZRANGEBYSCORE ZREM ZREMRANGEBYSCORE ZSCORE"),
        _Use(of.calls, True, "LLEN LPOP LPUSH RPUSH"),
        _Use(of.bell, True, "BLPOP DEL LLEN RPUSH"),
        _Use(of.jobs, True, "LLEN LPOP LPUSH RPUSH"),
        _Use(of.job_bell, True, "DEL LLEN RPUSH"),
        _Use(of.reporter, True, "DEL GET"),
        _Use(of.paused, True, "GET"),
        _Use(of.cancelled, True, "ZRANGE ZREMRANGEBYSCORE"),
        _Use(of.held(any_id), True, "HDEL HGET HKEYS HLEN HRANDFIELD HSET"),
        _Use(keys.reply(any_id), True, "PEXPIRE RPUSH"),
    ]


#: What follows a command's key, where a command without it would not be one.
_REST: Dict[str, List[str]] = {
    "BLPOP": ["1"], "HDEL": ["_"], "HGET": ["_"], "HMGET": ["_"], "HSET": ["_", "_"], "HSTRLEN": ["_"],
    "LPOP": ["1"], "LPUSH": ["_"], "LRANGE": ["0", "0"], "LPOS": ["_"], "LREM": ["1", "_"], "LTRIM": ["0", "0"], "PEXPIRE": ["1"],
    "RPUSH": ["_"], "SET": ["_", "PX", "1", "GET"], "ZADD": ["0", "_"], "ZRANGE": ["0", "0"], "ZRANGEBYSCORE": ["0", "0"],
    "ZREM": ["_"], "ZREMRANGEBYSCORE": ["0", "0"], "ZSCORE": ["_"],
}  # fmt: skip
_KEYLESS = {"EVAL": ["EVAL", "return 1", "0"], "EVALSHA": ["EVALSHA", "_", "0"], "TIME": ["TIME"]}

#: Redis itself says whether the user may: this runs nothing and leaves no trace in the server's log of denials.
_ASK = """
local denied, at, probe = {}, 1, 0
while at <= #ARGV do
  local count = tonumber(ARGV[at])
  if not redis.acl_check_cmd(unpack(ARGV, at + 1, at + count)) then denied[#denied + 1] = probe end
  at = at + count + 1
  probe = probe + 1
end
return denied"""


async def missing_rights(connection: Connection, role: str, keys: Keys, queue: str) -> Optional[str]:
    """What the connected user lacks for ``hub`` or ``worker``, as text; None when it may do everything. Raises ReplyError."""
    probes = []
    for key, script, commands in _uses(role, keys, queue):
        if key is not None and script:
            probes.append(("EVAL", key, ["EVAL", "return 1", "1", key]))
        for command in commands.split():
            if key is None:
                words = _KEYLESS[command]
            elif command == "BLMOVE":
                words = [command, key, key, "LEFT", "RIGHT", "1"]
            else:
                words = [command, key, *_REST.get(command, [])]
            probes.append((command, key or "", words))
    args = [word for _, _, words in probes for word in (str(len(words)), *words)]
    try:
        denied = [probes[index] for index in await connection.one("EVAL", _ASK, 0, *args)]
    except ReplyError as error:
        if not str(error).startswith("NOPERM"):
            raise
        return "EVAL"
    by_key: Dict[str, List[str]] = {}
    for command, key, _ in denied:
        by_key.setdefault(key, []).append(command)
    return ", ".join(f"{' '.join(c)} on {key}" if key else " ".join(c) for key, c in by_key.items()) or None


async def find_unfit(connection: Connection, keys: Keys, queue: str) -> List[str]:
    """What makes this server unfit for a worker of the queue, one sentence each. What it does not tell is no reason."""
    try:
        text = (await connection.one("INFO")).decode("utf-8", "replace")
    except ReplyError:
        text = ""
    info = dict(line.split(":", 1) for line in text.splitlines() if ":" in line and not line.startswith("#"))
    reasons = []
    version = info.get("redis_version", "7")
    if "valkey_version" not in info and int(version.split(".")[0]) < 7:
        reasons.append(f"Redis {version} is too old; 7.0 or newer is needed")
    if info.get("role", "master") != "master":
        reasons.append(f"this server is a {info['role']}, which refuses writes; connect to its master")
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        reasons.append(
            f"maxmemory-policy is {policy}: a full server would silently drop requests. "
            "Set it with: redis-cli config set maxmemory-policy noeviction"
        )
    if info.get("redis_mode", info.get("server_mode")) == "cluster":
        reasons.append("this is a Cluster node; this version of pshub does not connect to Clusters")
    try:
        missing = await missing_rights(connection, "worker", keys, queue)
    except ReplyError:
        missing = None
    if missing:
        reasons.append(f"this user may not serve a queue: it lacks {missing}. See 'pshub check --for worker'")
    return reasons
