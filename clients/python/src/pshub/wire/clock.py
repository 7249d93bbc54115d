"""Time inside this process, and waiting. Seconds, on a clock that does not jump."""

from __future__ import annotations

import asyncio
import contextvars
import random
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

#: How far tests have moved the clocks of this process on, seconds.
_ahead_s = 0.0
#: What makes the event loops of hubs and workers.
_make_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop


def now_s() -> float:
    return time.monotonic() + _ahead_s


def wall_ms() -> float:
    """Milliseconds since 1970, as this host has it."""
    return (time.time() + _ahead_s) * 1000


def make_loop() -> asyncio.AbstractEventLoop:
    # What it listens to itself with would keep the context of whoever made it.
    return contextvars.Context().run(_make_loop)


def move_clocks(seconds: float) -> None:
    """For tests, whose event loops go by ``now_s``: all that waits in others goes on waiting."""
    global _ahead_s
    _ahead_s += seconds


def clocks_ahead_s() -> float:
    return _ahead_s


def use_loops(make: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop) -> None:
    global _make_loop
    _make_loop = make


class Stop:
    """Set once, never cleared; belongs to one event loop. Waits on it leave nothing behind."""

    def __init__(self) -> None:
        self.is_set = False
        self._callbacks: dict[int, Callable[[], None]] = {}
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


def settle(future: asyncio.Future[Any], value: Any = None) -> None:
    if not future.done():
        future.set_result(value)


def ignore(future: asyncio.Future[Any]) -> None:
    """Nobody asks how this ends."""
    future.add_done_callback(lambda done: done.cancelled() or done.exception())


def start(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """
    A task of the library's own, that outlives whoever happened to be the first to need it: it sees nothing of the context variables
    there, and keeps none of them alive.
    """
    task: asyncio.Task[T] = contextvars.Context().run(asyncio.get_running_loop().create_task, work)
    # Programs may close a loop without winding it up; nobody there can do anything about these.
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    return task


def call_later(seconds: float, callback: Callable[..., Any], *args: Any) -> asyncio.TimerHandle:
    """As that of the running loop, in the same way."""
    handle: asyncio.TimerHandle = contextvars.Context().run(asyncio.get_running_loop().call_later, seconds, callback, *args)
    return handle


def spawn(work: Coroutine[Any, Any, Any], under_way: set[asyncio.Task[Any]]) -> asyncio.Task[Any]:
    """Lets it run by itself, in this set while it does: an event loop does not keep the tasks that it runs."""
    task = start(work)
    under_way.add(task)
    task.add_done_callback(under_way.discard)
    return task


async def sleep(seconds: float, stop: Stop | None = None) -> None:
    """Returns after ``seconds``, or at once when ``stop`` is set."""
    if stop is not None and stop.is_set:
        return
    loop = asyncio.get_running_loop()
    woken: asyncio.Future[None] = loop.create_future()
    key = stop.add(lambda: settle(woken)) if stop else 0
    timer = call_later(seconds, settle, woken)
    try:
        await woken
    finally:
        timer.cancel()
        if stop:
            stop.remove(key)


async def within(work: asyncio.Future[Any], seconds: float | None, stop: Stop | None = None) -> None:
    """Waits for ``work`` but not longer than ``seconds`` (None: no limit) or until ``stop``; its outcome is not looked at."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    work.add_done_callback(lambda _: settle(over))
    key = stop.add(lambda: settle(over)) if stop else 0
    if stop is not None and stop.is_set:
        settle(over)
    timer = call_later(seconds, settle, over) if seconds is not None else None
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
    full = min(most_s, first_s * 2.0 ** min(attempt, 20))
    return full / 2 + full / 2 * random.random()
