"""The connections that a hub or a worker has."""

from __future__ import annotations

from ..figures.events import Events
from .connection import Connection
from .servers import Servers
from .target import RedisTarget

#: How long a blocked read waits before it looks again; also the longest a lost bell can cost.
BLOCK_S = 2
#: A request without an answer for so long condemns its connection.
_STALL_S = 2.0


def make_connections(owner: str, target: RedisTarget, events: Events) -> tuple[Connection, Connection]:
    """One for requests, which must be answered soon, and one that may block."""

    servers = Servers(target)
    # A worker's wait may have to be ended.
    asks_id = owner == "worker"
    return (
        _make(owner, "commands", servers, _STALL_S, events),
        _make(owner, "blocking", servers, BLOCK_S + 1.0, events, asks_id),
    )


def make_waiting_connection(beside: Connection) -> Connection:
    """A further one of a worker's that may block: on a Cluster each place that it serves is waited for by itself."""
    return Connection(beside.servers, "pshub-worker-blocking", BLOCK_S + 1.0, asks_id=True)


def make_durable_connection(beside: Connection, events: Events) -> Connection:
    """A connection of a hub's on which Redis may wait for its replicas."""
    return _make("hub", "durable", beside.servers, _STALL_S + 1.0, events)


def _make(owner: str, role: str, servers: Servers, stall_s: float, events: Events, asks_id: bool = False) -> Connection:
    return Connection(
        servers,
        f"pshub-{owner}-{role}",
        stall_s,
        lambda: events.emit("redis:up", role=f"{owner} {role}"),
        lambda reason: events.emit("redis:down", role=f"{owner} {role}", reason=reason),
        asks_id,
    )
