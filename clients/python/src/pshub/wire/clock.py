"""Time inside this process, waiting, and Redis' clock as far as it is known here. Seconds, on a clock that does not jump."""

from __future__ import annotations

import asyncio
import math
import random
import time
from typing import Any, Callable, Dict, Optional

now_s: Callable[[], float] = time.monotonic


class Stop:
    """Set once, never cleared; belongs to one event loop. Waits on it leave nothing behind."""

    def __init__(self) -> None:
        self.is_set = False
        self._callbacks: Dict[int, Callable[[], None]] = {}
        self._next = 0

    def set(self) -> None:
        self.is_set = True
        callbacks, self._callbacks = self._callbacks, {}
        for callback in callbacks.values():
            callback()

    def add(self, callback: Callable[[], None]) -> int:
        self._next += 1
        self._callbacks[self._next] = callback
        return self._next

    def remove(self, key: int) -> None:
        self._callbacks.pop(key, None)


def settle(future: "asyncio.Future[Any]", value: Any = None) -> None:
    if not future.done():
        future.set_result(value)


def ignore(future: "asyncio.Future[Any]") -> None:
    """Nobody asks how this ends."""
    future.add_done_callback(lambda done: done.cancelled() or done.exception())


async def sleep(seconds: float, stop: Optional[Stop] = None) -> None:
    """Returns after ``seconds``, or at once when ``stop`` is set."""
    if stop is not None and stop.is_set:
        return
    loop = asyncio.get_running_loop()
    woken: "asyncio.Future[None]" = loop.create_future()
    key = stop.add(lambda: settle(woken)) if stop else 0
    timer = loop.call_later(seconds, settle, woken)
    try:
        await woken
    finally:
        timer.cancel()
        if stop:
            stop.remove(key)


async def within(work: "asyncio.Future[Any]", seconds: Optional[float], stop: Optional[Stop] = None) -> None:
    """Waits for ``work`` but not longer than ``seconds`` (None: no limit) or until ``stop``; its outcome is not looked at."""
    loop = asyncio.get_running_loop()
    over: "asyncio.Future[None]" = loop.create_future()
    work.add_done_callback(lambda _: settle(over))
    key = stop.add(lambda: settle(over)) if stop else 0
    if stop is not None and stop.is_set:
        settle(over)
    timer = loop.call_later(seconds, settle, over) if seconds is not None else None
    try:
        await over
    finally:
        if timer:
            timer.cancel()
        if stop:
            stop.remove(key)


def backoff_s(attempt: int, first_s: float = 0.05, most_s: float = 1.0) -> float:
    """
    Wait before attempt 0, 1, 2 ...: doubles up to ``most_s``, each spread over half to all of it, so that many processes do not
    come back in step after an outage.
    """
    full = min(most_s, first_s * 2 ** min(attempt, 20))
    return full / 2 + full / 2 * random.random()


_MEMORY_S = 10.0
#: An answer that is later than this is none: the clock was set back. Connections do not wait so long.
_STEP_S = 2.0
#: As far ahead of all the last answers: the clock was set forward. It drifts by microseconds in that time.
_FORWARD_S = 0.25


class RedisClock:
    """
    Redis' clock from answers that tell the time at which they were given. They are read later than that, so the estimate is
    behind by an answer's way, and the shortest of the last ways counts. It is never ahead: what is judged late by it is late.
    """

    def __init__(self) -> None:
        self._best = self._before = self._period_end = -math.inf
        #: When an answer last showed that Redis' clock was set forward.
        self.stepped_at = -math.inf

    def learn(self, at_us: int, at_s: float) -> None:
        """An answer came at ``at_s`` that Redis gave at ``at_us``."""
        if at_s > self._period_end:
            # Old samples go, so that neither drift nor a step of Redis' clock stays in the estimate.
            self._before = -math.inf if at_s > self._period_end + _MEMORY_S else self._best
            self._best = -math.inf
            self._period_end = at_s + _MEMORY_S
        offset = at_us / 1e6 - at_s
        known = max(self._best, self._before)
        # Nothing but a step does that: an answer that is read late shows less, never more.
        if known != -math.inf and offset > known + _FORWARD_S:
            self.stepped_at = at_s
        if offset < known - _STEP_S:
            self._best = self._before = offset
        else:
            self._best = max(self._best, offset)

    def at_us(self, at_s: float) -> int:
        """Redis microseconds at that moment, or a little less; 0 while nothing is known."""
        offset = max(self._best, self._before)
        if offset == -math.inf or at_s > self._period_end + _MEMORY_S:
            return 0
        return math.floor((at_s + offset) * 1e6)


class Deadlines:
    """
    Ends many things in time with one timer: it sleeps until the earliest deadline it knew of and looks at all entries then. Since
    most are deleted long before, that is about one look per timeout, and adding costs no timer. An entry has ``deadline`` (seconds
    as of ``now_s``) and ``expire()``.
    """

    _PAUSE_S = 0.005

    def __init__(self) -> None:
        self._entries: Dict[Any, None] = {}
        self._timer: Optional[asyncio.TimerHandle] = None
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
        self._timer = loop.call_later(max(0.0, at - now_s()), lambda: loop.call_soon(self._look))

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
