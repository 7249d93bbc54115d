"""What is under way on one link."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Deque, List, Optional

from redis.asyncio.connection import Connection as Link

from ..wire.clock import now_s


class Flight:
    """Commands that were sent together, until their last answer."""

    __slots__ = ("future", "missing", "replies", "sent_at")

    def __init__(self, future: "asyncio.Future[List[Any]]", count: int) -> None:
        self.future = future
        self.missing = count
        self.replies: List[Any] = []
        self.sent_at = now_s()


class Wire:
    """One link while it lives: what is to be written on it and what was not answered yet."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.out: List[bytes] = []
        self.wake: Optional["asyncio.Future[None]"] = None
        self.flights: Deque[Flight] = deque()
        #: Pieces of answers that came, whole ones or not.
        self.heard = 0
        #: How Redis calls it, for CLIENT UNBLOCK; None where that was not asked or may not be.
        self.client_id: Optional[int] = None
        self._listen()

    def _listen(self) -> None:
        """Counts what comes in. redis-py does not document where its bytes come from; without that, whole answers count."""
        reader: Any = getattr(self.link, "_reader", None)
        feed = getattr(reader, "feed_data", None)
        if feed is None:
            return

        def fed(data: bytes) -> None:
            self.heard += 1
            feed(data)

        reader.feed_data = fed
