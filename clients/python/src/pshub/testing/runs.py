"""The handlers that run now, in this process."""

from __future__ import annotations

import copy
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import AsyncGeneratorType, GeneratorType
from typing import Any

from ..task.task import Task

#: For so long, in real time, a handler is waited for before the clock goes on: it may wait for a disk, or for a timer of its own.
_PATIENCE_S = 0.1


class Runs:
    def __init__(self, busy: Callable[[], int]) -> None:
        """``busy``: how many requests workers have taken whose end they do not know."""
        self._busy = busy
        self._passing_since = math.inf
        self._changed = threading.Condition()
        self._started_at: dict[object, float] = {}
        #: By the id of the request, how its last run ended: with what it raised, or None.
        self._ends: dict[str, BaseException | None] = {}
        #: How many have ended.
        self.count = 0

    @property
    def running(self) -> int:
        return len(self._started_at)

    @property
    def may_end(self) -> bool:
        """Some of them began just now, and may end if they are let."""
        now = time.monotonic()
        if self._busy() <= self.running:
            self._passing_since = math.inf
        else:
            # On its way between a worker and the thread of its handler.
            self._passing_since = min(self._passing_since, now)
            if now - self._passing_since < _PATIENCE_S:
                return True
        return any(now - at < _PATIENCE_S for at in [*self._started_at.values()])

    def noted(self, task: Task[..., Any]) -> Task[..., Any]:
        """The same task, whose runs are noted here."""
        noted = copy.copy(task)
        run = task.run

        def run_noted(args: Any, context: Any) -> Any:
            if task.is_async:
                try:
                    value = run(args, context)
                except BaseException as error:
                    self._end(context.id, error)
                    raise
                return self._chunks_async(value, context.id) if isinstance(value, AsyncGeneratorType) else self._awaited(value, context.id)
            with self._run(context.id) as kept:
                value = run(args, context)
                if not isinstance(value, GeneratorType):
                    return value
                kept.append(value)
            return self._chunks(value, context.id)

        noted.run = run_noted  # type: ignore[method-assign]
        return noted

    def end_of(self, id: str, timeout_s: float) -> tuple[BaseException | None] | None:
        """How the first run of a request ends, or None when it has not ended after so long, in real time."""
        with self._changed:
            ended = self._changed.wait_for(lambda: id in self._ends, timeout_s)
            return (self._ends[id],) if ended else None

    @contextmanager
    def _run(self, id: str) -> Iterator[list[Any]]:
        run, kept = object(), list[Any]()
        raised: BaseException | None = None
        self._started_at[run] = time.monotonic()
        try:
            yield kept
        except BaseException as error:
            raised = error
            raise
        finally:
            del self._started_at[run]
            if not kept:
                self._end(id, raised)

    def _end(self, id: str, raised: BaseException | None) -> None:
        with self._changed:
            self.count += 1
            self._ends[id] = raised
            self._changed.notify_all()

    def _chunks(self, chunks: Any, id: str) -> Any:
        with self._run(id):
            return (yield from chunks)

    async def _awaited(self, work: Any, id: str) -> Any:
        with self._run(id):
            return await work

    async def _chunks_async(self, chunks: Any, id: str) -> Any:
        with self._run(id):
            async for chunk in chunks:
                yield chunk
