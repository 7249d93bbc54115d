"""Of a hub for asyncio what each event loop has of its own: connections, and the calls in flight over these."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from typing import Any

from ..figures.events import Events
from ..settings.table import Settings
from .dispatch import Dispatch

#: How long close() waits for loops on other threads.
_CLOSE_PATIENCE_S = 5.0


class Dispatches:
    """From any thread; each Dispatch is used on the thread of its loop alone."""

    def __init__(self, settings: Settings, events: Events, forked: Callable[[], None]) -> None:
        """``forked`` is called in the child of a fork, when it is used there."""
        self._settings = settings
        self._events = events
        self._forked = forked
        self._by_loop: dict[asyncio.AbstractEventLoop, Dispatch] = {}
        self._reset()

    @property
    def is_here(self) -> bool:
        """Whether the running loop has one."""
        return self._pid == os.getpid() and asyncio.get_running_loop() in self._by_loop

    def here(self) -> Dispatch:
        """That of the running loop."""
        if self._pid != os.getpid():
            for each in self._by_loop.values():
                each.detach()
            self._reset()
            self._forked()
        loop = asyncio.get_running_loop()
        dispatch = self._by_loop.get(loop)
        if dispatch is None:
            with self._lock:
                self._forget_ended()
                dispatch = self._by_loop[loop] = Dispatch(self._settings, self._events)
        return dispatch

    async def close(self) -> None:
        with self._lock:
            self._forget_ended()
            found, self._by_loop = self._by_loop, {}
        here = asyncio.get_running_loop()
        ends: list[asyncio.Future[Any]] = []
        for loop, dispatch in found.items():
            if loop is here:
                ends.append(loop.create_task(dispatch.close()))
            elif loop.is_running():
                ends.append(asyncio.wrap_future(asyncio.run_coroutine_threadsafe(dispatch.close(), loop)))
            else:
                dispatch.let_go()
                # Should it run once more.
                loop.call_soon_threadsafe(_close_on, loop, dispatch)
        if ends:
            await asyncio.wait(ends, timeout=_CLOSE_PATIENCE_S)

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._by_loop = {}

    def _forget_ended(self) -> None:
        """A loop that was closed without winding up leaves its sockets open."""
        for loop in [each for each in self._by_loop if each.is_closed()]:
            self._by_loop.pop(loop).let_go()


def _close_on(loop: asyncio.AbstractEventLoop, dispatch: Dispatch) -> None:
    loop.create_task(dispatch.close())
