"""Pausing a queue and resuming it. PROTOCOL.md, section 10.10."""

from __future__ import annotations

import re
from typing import Any

from ..redis.connection import Connection
from ..wire.errors import ConfigError
from ..wire.keys import Keys, is_queue_name
from .shards import places_of

_TIME = re.compile(rb"[0-9]{1,16}")


def check_queue_name(queue: Any) -> None:
    """Raises ConfigError."""
    if not is_queue_name(queue):
        raise ConfigError(f"{str(queue)[:80]!r} is not the name of a queue: 1 to 64 letters, digits, and _ . - (a letter or digit first).")


def _paused_ms(text: bytes | None) -> int | None:
    """What is no time is nobody's pause, whoever wrote it."""
    return int(text) if text is not None and _TIME.fullmatch(text) else None


async def pause_queue(connection: Connection, keys: Keys, queue: str) -> int:
    """
    Pauses all places of a queue. Returns since when its own is paused, Redis milliseconds: an earlier pause goes on, with its own time.
    """
    own, *others = await places_of(connection, keys, queue)
    since_ms = await _pause_place(connection, keys, own)
    for name in others:
        await _pause_place(connection, keys, name)
    return since_ms


async def _pause_place(connection: Connection, keys: Keys, queue: str) -> int:
    key = keys.queue(queue).paused
    now_ms = await connection.at(key).now_ms()
    before = await connection.one("SET", key, now_ms, "NX", "GET")
    paused_ms = _paused_ms(before)
    if paused_ms is not None:
        return paused_ms
    # Workers take what is no time for no pause; it must not keep anybody from pausing.
    if before is not None:
        await connection.one("SET", key, now_ms)
    return now_ms


async def resume_queue(connection: Connection, keys: Keys, queue: str) -> bool:
    """
    Resumes all places of a queue. Returns whether one was paused. A life that ended long ago removes the key,
    also from a full Redis and never somebody else's of another type.
    """
    places = await places_of(connection, keys, queue)
    were = [await connection.one("GETEX", keys.queue(name).paused, "PXAT", 1) for name in places]
    return any(_paused_ms(each) is not None for each in were)
