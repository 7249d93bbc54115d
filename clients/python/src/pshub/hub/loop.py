"""An event loop on a thread of its own, for callers and handlers that are ordinary threads."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any, TypeVar

from ..wire.clock import make_loop
from ..wire.errors import ConfigError

T = TypeVar("T")


def check_threads() -> None:
    """Raises ConfigError where gevent took the system's waiting and left threads as they are: an event loop on a thread never wakes up then."""
    monkey: Any = sys.modules.get("gevent.monkey")
    if monkey is not None and monkey.is_module_patched("select") and not monkey.is_module_patched("threading"):
        raise ConfigError("gevent has patched select but not threads, so a hub or worker cannot run here; call patch_all() without thread=False.")


class LoopThread:
    def __init__(self, name: str) -> None:
        check_threads()
        self.loop = make_loop()
        self._is_stopping = False
        self._posted: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._is_woken = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def ident(self) -> int | None:
        return self._thread.ident

    @property
    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    def post(self, callback: Callable[..., None], *args: Any) -> None:
        """Runs it on the loop's thread soon; what comes close together costs one wake-up."""
        self._posted.append((callback, args))
        self._wake()

    def _wake(self) -> None:
        if self._is_woken:
            return
        self._is_woken = True
        try:
            # What runs here for all sees nothing of who happened to be first.
            self.loop.call_soon_threadsafe(self._run_posted, context=Context())
        except RuntimeError:
            # The loop has ended; whoever waits for what was posted looks whether it is alive.
            pass

    def run(self, work: Awaitable[T], timeout: float | None = None) -> T:
        """Runs a coroutine there and returns its result."""

        async def wrapped() -> T:
            return await work

        return Context().run(asyncio.run_coroutine_threadsafe, wrapped(), self.loop).result(timeout)

    def stop(self) -> None:
        self._is_stopping = True
        try:
            self.loop.call_soon_threadsafe(self.loop.stop)
        except RuntimeError:
            return
        if not self.is_current:
            self._thread.join(2.0)

    def _run_posted(self) -> None:
        # Before the first look: what is posted from here on wakes this again.
        self._is_woken = False
        posted = self._posted
        try:
            while posted:
                callback, args = posted.popleft()
                callback(*args)
        finally:
            # One that raises keeps none of those behind it waiting.
            if posted:
                self._wake()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self._turn()
            leftover = asyncio.all_tasks(self.loop)
            for task in leftover:
                task.cancel()
            if leftover:
                self.loop.run_until_complete(asyncio.gather(*leftover, return_exceptions=True))
        finally:
            self.loop.close()

    def _turn(self) -> None:
        while not self._is_stopping:
            try:
                self.loop.run_forever()
            except (SystemExit, KeyboardInterrupt):
                # Of one of the coroutines: it must not end a loop that serves others.
                continue
