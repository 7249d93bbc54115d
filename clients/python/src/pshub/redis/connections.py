"""The two connections that a hub or a worker has."""

from __future__ import annotations

from typing import Tuple

from ..figures.events import Events
from .connection import Connection
from .target import RedisTarget

#: How long a blocked read waits before it looks again; also the longest a lost bell can cost.
BLOCK_S = 2


def make_connections(owner: str, target: RedisTarget, events: Events) -> Tuple[Connection, Connection]:
    """One for requests, which must be answered soon, and one that may block."""

    def make(role: str, stall_s: float, asks_id: bool = False) -> Connection:
        return Connection(
            target,
            f"pshub-{owner}-{role}",
            stall_s,
            lambda: events.emit("redis:up", role=f"{owner} {role}"),
            lambda reason: events.emit("redis:down", role=f"{owner} {role}", reason=reason),
            asks_id,
        )

    # A worker's wait may have to be ended.
    return make("commands", 2.0), make("blocking", BLOCK_S + 1.0, owner == "worker")
