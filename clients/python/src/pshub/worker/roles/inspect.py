"""Looks whether the server is fit: before the worker serves, and from time to time after that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ...figures.events import Events
from ...redis.boot_check import unfit_text
from ...redis.connection import Connection
from ...wire.clock import Stop, sleep

#: How often a server is looked at until it is fit, and after that.
_RETRY_S = 1.0
_EVERY_S = 60.0


class Inspect:
    def __init__(self, connection: Connection, events: Events, find_unfit: Callable[[], Awaitable[list[str]]]) -> None:
        self._connection = connection
        self._events = events
        self._find_unfit = find_unfit
        self._stopping = Stop()
        self._told = ""

    async def look(self) -> list[str] | None:
        """What makes the server unfit; None when it could not be asked."""
        try:
            return await self._find_unfit()
        except Exception:
            return None

    async def until_fit(self) -> None:
        """Returns when the server is there and fit, or when this ends. Each new reason why it is not is told once."""
        while not self._stopping.is_set:
            await self._connection.when_ready(self._stopping)
            reasons = await self.look()
            self._tell(reasons)
            if reasons == []:
                return
            await sleep(_RETRY_S, self._stopping)

    async def watch(self) -> None:
        """Goes on looking while the worker serves. What it serves is not put at risk by stopping, so a change is only told."""
        while True:
            await sleep(_EVERY_S, self._stopping)
            if self._stopping.is_set:
                return
            self._tell(await self.look())

    def stop(self) -> None:
        self._stopping.set()

    def _tell(self, reasons: list[str] | None) -> None:
        text = self._told if reasons is None else "; ".join(reasons)
        if text != self._told:
            self._told = text
            if text:
                self._events.emit("problem", where="redis", reason=unfit_text(reasons or []))
