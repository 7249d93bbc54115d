"""A task that merges its jobs, as tests of that run it, and what Redis has of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from conftest import Server
from job_tasks import PREFIX
from pshub import Context, Task, Worker, task

Serve = Callable[..., Worker]
ByKey = dict[str, list[Any]]
Act = Callable[[ByKey, Context], Any]


class Run(NamedTuple):
    by_key: ByKey
    attempt: int
    fence: int


class Merge:
    """A task that notes its runs; ``act`` is what it does meanwhile."""

    def __init__(self, act: Act = lambda by_key, ctx: None, **options: Any) -> None:
        self.runs: list[Run] = []
        #: How many have begun.
        self.begun = 0

        @task("merge:1.0", keyed="merged", **options)
        def merge(by_key: ByKey, ctx: Context) -> None:
            self.begun += 1
            assert ctx.fence is not None
            try:
                act(by_key, ctx)
            finally:
                self.runs.append(Run(by_key, ctx.attempt, ctx.fence))

        self.task: Task[..., Any] = merge

    def declared(self, serve: Serve) -> Task[..., Any]:
        """Known, and nobody takes anything until a worker is started."""
        serve(self.task, job_slots=0).stop()
        return self.task

    @property
    def brought(self) -> list[ByKey]:
        return [run.by_key for run in self.runs]


def fail_first(failure: Exception, times: int = 1) -> Act:
    """Has the first runs fail."""
    failures = [failure] * times

    def act(by_key: ByKey, ctx: Context) -> None:
        if failures:
            raise failures.pop()

    return act


class Gate:
    """Holds the first run until it is opened."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.opened = threading.Event()
        self._failure = failure
        self._is_first = True

    def __call__(self, by_key: ByKey, ctx: Context) -> None:
        if self._is_first:
            self._is_first = False
            assert self.opened.wait(10)
            if self._failure is not None:
                raise self._failure


def waiting(server: Server, key: str) -> dict[str, float]:
    """What waits of a key, as Redis has it."""
    return dict(server.client.zrange(f"{PREFIX}merged:merge:1.0:{key}", 0, -1, withscores=True))
