"""Handlers that are coroutines, on an event loop of their own: a thread for all of a worker, which is made for the first one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ..figures.events import Events
from ..hub.loop import LoopThread
from ..wire.clock import start
from .loop_watch import LoopWatch

#: What brings a handler to its outcome.
Work = Callable[[], Coroutine[Any, Any, Any]]


class AsyncRuns:
    """Started and stopped by the worker's own thread."""

    def __init__(self, events: Events, whose: Callable[[], dict[str, Any]]) -> None:
        """``whose`` is told of a loop that is blocked: worker and queue."""
        self._events = events
        self._whose = whose
        self._thread: LoopThread | None = None
        self._watch: LoopWatch | None = None
        #: What runs, with its task's name; of the loop's thread, as what it holds.
        self._running: dict[asyncio.Task[Any], str] = {}

    def start(self, name: str, work: Work, ended: Callable[[Any], None]) -> AsyncRun:
        """
        Runs a coroutine of this task. ``ended`` is called on the loop's thread, with what it returned; with None when it was cancelled
        before it began.
        """
        if self._thread is None or self._watch is None:
            self._thread = LoopThread("pshub-async")
            self._watch = LoopWatch(self._thread, self._running, self._tell)
        run = AsyncRun(self._thread)
        self._thread.post(self._begin, run, name, work, ended)
        self._watch.wake()
        return run

    def stop(self) -> None:
        """What still runs is cancelled, and has a moment to clean up."""
        if self._watch is not None:
            self._watch.stop()
        if self._thread is not None:
            self._thread.stop()

    def _begin(self, run: AsyncRun, name: str, work: Work, ended: Callable[[Any], None]) -> None:
        task = run.task = start(work())
        self._running[task] = name

        def over(task: asyncio.Task[Any]) -> None:
            del self._running[task]
            run.task = None
            ended(None if task.cancelled() else task.result())

        task.add_done_callback(over)

    def _tell(self, event: str, **told: Any) -> None:
        self._events.emit(event, **self._whose(), **told)


class AsyncRun:
    """One coroutine. It may be cancelled from any thread."""

    def __init__(self, thread: LoopThread) -> None:
        self._thread = thread
        self.task: asyncio.Task[Any] | None = None

    def cancel(self) -> None:
        # Behind the post that begins it.
        self._thread.post(self._cancel)

    def _cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()
