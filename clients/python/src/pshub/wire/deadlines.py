"""Many deadlines, one timer."""

from __future__ import annotations

import asyncio
import math
from typing import Any

from .clock import call_later, now_s


class Deadlines:
    """
    Ends many things in time with one timer: it sleeps until the earliest deadline it knew of and looks at all entries then. Since
    most are deleted long before, that is about one look per timeout, and adding costs no timer. An entry has ``deadline`` (seconds
    as of ``now_s``) and ``expire()``.
    """

    _PAUSE_S = 0.005

    def __init__(self) -> None:
        self._entries: dict[Any, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._next_look = math.inf

    def add(self, entry: Any) -> None:
        self._entries[entry] = None
        if entry.deadline < self._next_look:
            self._sleep_until(entry.deadline)

    def delete(self, entry: Any) -> None:
        self._entries.pop(entry, None)

    def stop(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None
        self._next_look = math.inf

    def _sleep_until(self, at: float) -> None:
        self.stop()
        self._next_look = at
        # What came in time may lie unread in a socket: after a pause of the process timers run before anything is read.
        loop = asyncio.get_running_loop()
        self._timer = call_later(max(0.0, at - now_s()), lambda: loop.call_soon(self._look))

    def _look(self) -> None:
        now = now_s()
        # What expires may add itself again, with a later deadline.
        self._next_look = earliest = math.inf
        for entry in list(self._entries):
            if entry.deadline > now:
                earliest = min(earliest, entry.deadline)
            elif self._entries.pop(entry, 0) is None:
                entry.expire()
        if earliest < self._next_look:
            self._sleep_until(max(earliest, now + self._PAUSE_S))
