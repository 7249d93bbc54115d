"""The connections to the nodes of a Cluster, or to the one server there is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ..wire.clock import Stop, settle, sleep, spawn, within
from .node import NodeConnection
from .reach import Reach, address_text
from .redirect import Redirect
from .servers import Servers
from .slot_map import SlotMap
from .target import Address

#: A slot, a node, or whichever node.
Where = int | Address | None
Make = Callable[[Reach, Callable[[], None], Callable[[str], None]], NodeConnection]

#: Commands for a node that is down wait for so long: the loops that send them must not be busy.
_PATIENCE_S = 1.0
#: A node that has no slots any more gets so long to answer what is under way.
_RETIRE_S = 3.0
_LOOK_S = 0.05


class Nodes:
    """
    At first there is one connection, to the server that was named, and ``plain`` is it: that is all where no Cluster is. When it turns
    out to be a node of one, or says MOVED, each node gets a connection when it is first used.
    """

    def __init__(self, servers: Servers, make: Make, on_up: Callable[[], None], on_down: Callable[[str], None]) -> None:
        self._servers = servers
        self._make = make
        self._on_up = on_up
        self._on_down = on_down
        self._closing = Stop()
        self._is_open = False
        self._map: SlotMap | None = servers.slot_map
        self._end_use: Callable[[], None] = lambda: None
        self._by_address: dict[Address, NodeConnection] = {}
        self._waiting: dict[asyncio.Future[None], Where] = {}
        self._under_way: set[asyncio.Task[Any]] = set()
        self._told: str | None = None
        self._one: NodeConnection | None = None
        if self._map is None:
            self._one = make(servers.reach(self._greeted), self._up, on_down)
        self.plain = self._one

    def open(self) -> None:
        if self._is_open or self._closing.is_set:
            return
        self._is_open = True
        if self._one is not None:
            self._one.open()
        if self._map is not None:
            self._end_use = self._map.use(self._changed)

    # Where things are.

    @property
    def is_cluster(self) -> bool:
        """As far as it is known."""
        return self._map is not None

    @property
    def masters(self) -> list[Address]:
        return sorted(self._map.masters) if self._map else []

    def node_at(self, where: Where) -> NodeConnection | None:
        """The connection to use, which is opened by that; None while nobody knows of a node."""
        if self._one is not None:
            return self._one
        address = self._address_of(where)
        if address is None or self._closing.is_set:
            return None
        node = self._by_address.get(address)
        if node is None:
            node = self._by_address[address] = self._connected_to(address)
        return node

    def is_ready(self, where: Where) -> bool:
        if where is None and self._one is None:
            return self._map is not None and self._map.is_known
        node = self.node_at(where) if self._is_open else None
        return node is not None and node.is_ready

    def down_reason(self, where: Where) -> str | None:
        if self._one is not None:
            return self._one.down_reason
        node = self.node_at(where) if self._is_open and where is not None else None
        if node is not None:
            return node.down_reason and f"{node.down_reason} ({address_text(node.address)})"
        if self._map is not None and self._map.is_known:
            return self._first_reason() if where is None else f"no node of the Cluster serves slot {where}"
        return self._map.reason if self._map else None

    def _first_reason(self) -> str | None:
        """Of some node that is used, and away."""
        for node in self._by_address.values():
            if node.down_reason:
                return f"{node.down_reason} ({address_text(node.address)})"
        return None

    async def when_ready(self, where: Where, stop: Stop | None = None) -> None:
        while not self._closing.is_set and not (stop is not None and stop.is_set) and not self.is_ready(where):
            plain = self.plain
            if plain is not None:
                await plain.when_ready(stop)
                if plain is self.plain:
                    return
                continue
            ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting[ready] = where
            self._note_gap(ready, where)
            key = stop.add(lambda: settle(ready)) if stop else 0
            try:
                await ready
            finally:
                self._waiting.pop(ready, None)
                if self._map is not None:
                    self._map.over(ready)
                if stop:
                    stop.remove(key)

    def open_node_at(self, where: Where) -> NodeConnection | None:
        return self.node_at(where) if self._is_open else None

    def why_not(self, where: Where) -> str:
        return self.down_reason(where) or "not connected to Redis yet"

    async def ready_node(self, where: Where) -> NodeConnection | None:
        """The connection to use, which is waited for; None where there is none in a while."""
        node = self.open_node_at(where)
        if node is None or not node.is_ready:
            ready = asyncio.ensure_future(self._until_ready(where))
            await within(ready, _PATIENCE_S)
            ready.cancel()
            node = self.open_node_at(where)
        return node if node is not None and node.is_ready else None

    async def _until_ready(self, where: Where) -> None:
        await self.when_ready(where)
        if where is None and self._one is None:
            await self.when_ready(self._address_of(None))

    # What becomes known.

    def _greeted(self, is_cluster: bool) -> None:
        """What the server named says of itself: it is a node of a Cluster, or does not say."""
        self.plain = None
        if is_cluster and self._map is None:
            self._begin()
            one, self._one = self._one, None
            if one is not None:
                spawn(one.close(), self._under_way)

    def _begin(self) -> None:
        self._map = self._servers.begin_cluster()
        self._end_use = self._map.use(self._changed)

    def learn(self, redirect: Redirect) -> None:
        """A node named another one for a slot."""
        self.plain = None
        if self._map is None:
            self._begin()
        assert self._map is not None
        if not redirect.is_once:
            self._map.learn(redirect.slot, redirect.address)
        if self._one is not None:
            one, self._one = self._one, None
            self._retire(one)

    def look_anew(self) -> None:
        if self._map is not None:
            self._map.refresh()

    def _address_of(self, where: Where) -> Address | None:
        if isinstance(where, tuple):
            return where
        if self._map is None:
            return None
        if where is None:
            ready = [address for address, node in self._by_address.items() if node.is_ready]
            return next(iter(ready or sorted(self._map.masters)), None)
        return self._map.node_of(where)

    def _connected_to(self, address: Address) -> NodeConnection:
        assert self._map is not None
        slot_map = self._map

        def up() -> None:
            slot_map.over((self, address))
            self._up()

        def down(reason: str) -> None:
            # Of one that has no slots any more nobody needs to know.
            if self._by_address.get(address) is node:
                slot_map.trouble((self, address), address)
                self._on_down(f"{reason} ({address_text(address)})")

        node = self._make(Reach(slot_map.options_of(address)), up, down)
        node.open()
        return node

    def _up(self) -> None:
        self._on_up()
        self._release()

    def _changed(self) -> None:
        """The map is another one, or cannot be read."""
        assert self._map is not None
        if not self._map.is_known:
            if self._told is None and self._map.reason:
                self._told = self._map.reason
                self._on_down(self._map.reason)
            return
        self._told = None
        for address in [each for each in self._by_address if each not in self._map.masters]:
            self._map.over((self, address))
            self._retire(self._by_address.pop(address))
        for ready, where in list(self._waiting.items()):
            self._note_gap(ready, where)
        self._release()

    def _note_gap(self, ready: object, where: Where) -> None:
        """Somebody waits for a slot that no node serves: the map is looked at until there is one."""
        if self._map is None or self._one is not None or not isinstance(where, int):
            return
        if self._map.is_known and self._map.node_of(where) is None:
            self._map.trouble(ready)
        else:
            self._map.over(ready)

    def _release(self) -> None:
        for ready, where in list(self._waiting.items()):
            if self.is_ready(where) or self._closing.is_set:
                settle(ready)

    def _retire(self, node: NodeConnection) -> None:
        async def close() -> None:
            for _ in range(round(_RETIRE_S / _LOOK_S)):
                if not node.is_busy:
                    break
                await sleep(_LOOK_S, self._closing)
            await node.close()

        spawn(close(), self._under_way)

    # Its end.

    async def close(self) -> None:
        self._closing.set()
        self._end_use()
        self._release()
        nodes = [*self._by_address.values(), *([self._one] if self._one else [])]
        await asyncio.gather(*(node.close() for node in nodes))
        for task in list(self._under_way):
            await asyncio.wait({task}, timeout=_PATIENCE_S)

    def detach(self) -> None:
        for node in [*self._by_address.values(), *([self._one] if self._one else [])]:
            node.detach()
