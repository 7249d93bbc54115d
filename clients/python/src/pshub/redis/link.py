"""What is under way on one link."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from redis.asyncio.connection import Connection as Link

from ..wire.clock import now_s, settle
from .client import Command, pack
from .streams import on_data, queued


class Traffic(NamedTuple):
    """Of a link: pieces of answers that came, bytes that the system accepted for sending, and bytes that it does not accept yet."""

    heard: int
    accepted: int
    queued: int


class Flight:
    """Commands that were sent together, until their last answer."""

    __slots__ = ("future", "missing", "replies", "sent_at")

    def __init__(self, future: asyncio.Future[list[Any]], count: int) -> None:
        self.future = future
        self.missing = count
        self.replies: list[Any] = []
        self.sent_at = now_s()


class Wire:
    """One link while it lives: what is to be written on it and what was not answered yet."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.out: list[bytes] = []
        self.wake: asyncio.Future[None] | None = None
        self.flights: deque[Flight] = deque()
        #: Pieces of answers that came, whole ones or not.
        self.heard = 0
        #: Bytes that were given to the link.
        self.sent = 0
        #: How Redis calls it, for CLIENT UNBLOCK; None where that was not asked or may not be.
        self.client_id: int | None = None
        #: When something was last given to it.
        self.used_at = now_s()
        #: What waits until the link, which rested, has answered; None when it is trusted.
        self.unsent: list[tuple[asyncio.Future[list[Any]], Sequence[Command]]] | None = None
        on_data(link, self._hear)

    @property
    def traffic(self) -> Traffic:
        left = queued(self.link)
        return Traffic(self.heard, self.sent - left, left)

    def give(self, future: asyncio.Future[list[Any]], commands: Sequence[Command]) -> None:
        """The future has the answers."""
        flight = Flight(future, len(commands))
        self.used_at = flight.sent_at
        self.flights.append(flight)
        for command in commands:
            self.out.append(pack(command))
        if self.wake is not None:
            settle(self.wake)
            self.wake = None

    def _hear(self) -> None:
        self.heard += 1
