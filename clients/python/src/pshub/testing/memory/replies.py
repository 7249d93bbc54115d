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
    if mark in b"$*" and line == b"-1":
        return None, at
    if mark == b"$":
        behind = at + int(line) + 2
        if len(data) < behind:
            raise IndexError("it is incomplete")
        return data[at : behind - 2], behind
    if mark == b"*":
        items = []
        for _ in range(int(line)):
            item, at = _read(data, at)
            items.append(item)
        return items, at
    return (RedisError(line.decode()) if mark == b"-" else line.decode()), at
