"""Asks Redis what a user may not do."""

from __future__ import annotations

from typing import Dict, List, Optional

from ..wire.keys import Keys
from .connection import Connection
from .refusals import ReplyError
from .rights import uses_of

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
    for key, script, commands in uses_of(role, keys, queue):
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
