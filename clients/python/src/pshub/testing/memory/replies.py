"""What a Redis answers, in RESP 2."""

from __future__ import annotations

from typing import Any


class RedisError(Exception):
    """As Redis answers."""


def read_reply(data: bytes) -> Any:
    """The one answer in there. Raises RedisError for one that is an error."""
    reply, _ = _read(data, 0)
    if isinstance(reply, RedisError):
        raise reply
    return reply


def _read(data: bytes, at: int) -> tuple[Any, int]:
    end = data.index(b"\r\n", at)
    mark, line, at = data[at : at + 1], data[at + 1 : end], end + 2
    if mark == b":":
        return int(line), at
    if mark == b"$":
        length = int(line)
        return (None, at) if length < 0 else (data[at : at + length], at + length + 2)
    if mark == b"*":
        items = []
        for _ in range(int(line)):
            item, at = _read(data, at)
            items.append(item)
        return items, at
    return (RedisError(line.decode()) if mark == b"-" else line.decode()), at
