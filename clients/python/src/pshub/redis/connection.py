"""What sends commands to Redis, wherever that is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import copy
from typing import Any

from ..wire.clock import Stop, within
from .client import Command, Word
from .fence import Fence
from .node import NodeConnection
from .nodes import Nodes, Where
from .posting import Posting
from .reach import Reach, address_text
from .refusals import first
from .servers import Servers, servers_of
from .slot_map import slot_of
from .target import Address, RedisTarget


class Connection:
    """
    Each command goes to the server that has its key; where that is a node of a Cluster that is away, it waits for it for up to a
    second. ``at`` gives what stands where a key lives: it is ready when that server is, and commands without a key go there.
    """

    def __init__(
        self,
        target: RedisTarget | Servers,
        name: str,
        stall_s: float,
        on_up: Callable[[], None] = lambda: None,
        on_down: Callable[[str], None] = lambda reason: None,
        asks_id: bool = False,
    ) -> None:
        #: They outlive the connections to a node: the next one to the same node follows them.
        fences: dict[tuple[type[Reach], Address], Fence] = {}

        def make(reach: Reach, up: Callable[[], None], down: Callable[[str], None]) -> NodeConnection:
            fence = fences.setdefault((type(reach), reach.address), Fence())
            return NodeConnection(reach, name, stall_s, up, down, asks_id, fence)

        self._where: Where = None
        self._waits = True
        #: Which other connections may share.
        self.servers = servers_of(target)
        self._nodes = Nodes(self.servers, make, on_up, on_down)
        self._posting = Posting(self._nodes)

    def at(self, key: Word, waits: bool = True) -> Connection:
        """Without ``waits`` nothing is under way of what is sent while it is not ready."""
        view = self._standing(slot_of(key))
        view._waits = waits
        return view

    def each_master(self) -> list[tuple[str, Connection]]:
        """Of a Cluster every master and its name, else what there is."""
        masters = self._nodes.masters if self._nodes.plain is None else []
        return [(address_text(each), self._standing(each)) for each in masters] or [("", self)]

    def _standing(self, where: Where) -> Connection:
        view = copy(self)
        view._where = where
        return view

    @property
    def is_spread(self) -> bool:
        """There may be several servers, of which one can be away without the others."""
        return self._nodes.plain is None

    @property
    def is_cluster(self) -> bool:
        """As far as it is known."""
        return self._nodes.is_cluster

    def open(self) -> None:
        """Starts connecting; returns at once. Does nothing when already open."""
        self._nodes.open()

    @property
    def is_ready(self) -> bool:
        plain = self._nodes.plain
        return plain.is_ready if plain is not None else self._nodes.is_ready(self._where)

    @property
    def is_receiving(self) -> bool:
        """An answer is under way, and a part of it came a moment ago."""
        node = self._nodes.open_node_at(self._where)
        return node is not None and node.is_receiving

    @property
    def client_id(self) -> int | None:
        node = self._nodes.open_node_at(self._where)
        return node.client_id if node is not None else None

    @property
    def down_reason(self) -> str | None:
        """Why there is no connection at the moment, once an attempt failed."""
        return self._nodes.down_reason(self._where)

    async def when_ready(self, stop: Stop | None = None) -> None:
        """Returns when there is a connection, or when ``stop`` is set or this is closed: look at ``is_ready``."""
        await self._nodes.when_ready(self._where, stop)

    async def ready_within(self, seconds: float, stop: Stop | None = None) -> None:
        """The same, but no longer than that."""
        ready = asyncio.ensure_future(self.when_ready(stop))
        await within(ready, seconds)
        ready.cancel()

    def post(self, *commands: Command) -> asyncio.Future[list[Any]]:
        """
        Sends commands in one write, together with all others of this turn of the loop and in their order. The future has one
        answer per command (an error answer is a ReplyError among them), or raises NotConnected or ConnectionLost.
        """
        plain = self._nodes.plain
        return plain.post(*commands) if plain is not None else self._posting.post(self._where, commands, self._waits)

    async def one(self, *words: Word) -> Any:
        """The answer of one command; raises its ReplyError."""
        return first(await self.post(words))

    async def now_ms(self) -> int:
        """Redis' time in milliseconds."""
        seconds, micros = await self.one("TIME")
        return int(seconds) * 1000 + int(micros) // 1000

    async def close(self) -> None:
        """Closes for good."""
        await self._nodes.close()

    def detach(self) -> None:
        """In a forked child: lets go of the parent's sockets without a word to the server."""
        self._nodes.detach()
