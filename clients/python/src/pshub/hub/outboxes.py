"""The outboxes of a hub's calls, one for each queue."""

from __future__ import annotations

import asyncio

from ..figures.events import Events
from ..queue.queue import Queue
from ..redis.connection import Connection
from ..wire.clock import Stop, now_s
from ..wire.keys import Keys
from ..wire.redis_clock import RedisClock
from .outbox import Outbox


class Outboxes:
    def __init__(self, commands: Connection, keys: Keys, hub_id: str, events: Events, closing: Stop) -> None:
        self._commands = commands
        self._keys = keys
        self._hub_id = hub_id
        self._events = events
        self._closing = closing
        self._by_queue: dict[str, Outbox] = {}

    def of(self, name: str) -> Outbox:
        outbox = self._by_queue.get(name)
        if outbox is None:
            queue = Queue(name, self._keys)
            here = self._commands.at(queue.keys.calls, waits=False)
            # A clock of its own: queues may be at servers whose clocks differ.
            outbox = self._by_queue[name] = Outbox(here, queue, self._hub_id, RedisClock(), self._events, self._closing)
        return outbox

    def in_flight(self, name: str) -> int:
        return self.of(name).in_flight

    def why_down(self, name: str) -> str | None:
        return self._commands.at(self._keys.queue(name).calls).down_reason

    async def over(self, patience_s: float) -> None:
        """Of a hub that is closed: returns when what its callers gave up is taken back, or after so many seconds."""
        end = now_s() + patience_s
        while (under_way := set().union(*(each.under_way() for each in self._by_queue.values()))) and now_s() < end:
            await asyncio.wait(under_way, timeout=end - now_s())

    def used_keys(self) -> list[str]:
        """Of the numbers of pushes."""
        return [self._keys.queue(name).pushed(self._hub_id) for name, outbox in self._by_queue.items() if outbox.used]
