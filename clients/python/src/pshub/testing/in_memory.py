"""A hub and a worker on a Redis in this process, otherwise as in production."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..hub.arguments import MISSING, Called
from ..hub.hub import Hub
from ..task.task import Task
from ..wire.errors import ConfigError
from .clock import TestClock
from .enqueued import EnqueuedJob, EnqueuedJobs
from .inline import InlineHub
from .memory.server import MemoryRedis, closed
from .redis import TestRedis
from .runs import Runs
from .worker import TestWorker

JOB_MODES = ("run", "inline", "wait")
#: Options that are not for the test to say.
_OWN = {"redis", "tasks"}
#: How far the clock is moved at most while something is due that nobody has moved yet: a beat tells of it.
_BEAT_S = 1.1


class InMemory:
    """
    A hub and a worker that need no Redis: no server, no waiting. Use it in a ``with`` statement to close it.

    :param tasks: tasks of the worker, made by ``@task``. Without tasks there is no worker: only call and enqueue
    :param jobs: ``"run"``: the worker runs jobs in the background, as in production. ``"inline"``: ``enqueue`` returns when the job has
      run, and raises the error of its handler. ``"wait"``: jobs wait until ``drain``. Default run
    :param worker: further options of the worker, such as its queue
    :param hub: further options of the hub
    :raises ConfigError: for invalid options, and when the package lupa is not installed
    """

    def __init__(
        self,
        *tasks: Task[..., Any],
        jobs: str = "run",
        worker: Mapping[str, Any] | None = None,
        hub: Mapping[str, Any] | None = None,
    ) -> None:
        if jobs not in JOB_MODES:
            raise ConfigError(f"'jobs' must be one of {', '.join(JOB_MODES)}, not {jobs!r}.")
        for each in tasks:
            if not isinstance(each, Task):
                raise ConfigError(f"in_memory takes tasks made by @task, not {each!r}.")
        if own := _OWN & {*(worker or {}), *(hub or {})}:
            raise ConfigError(f"{', '.join(sorted(own))}: the kit sets this option of its hub and worker.")
        self._tasks = tasks
        self._options = {"slots": 16, **(worker or {})}
        self._waits = jobs == "wait"
        self._workers: list[TestWorker] = []
        self._runs = Runs(lambda: sum(worker.busy for worker in self._workers))
        self._is_closed = False
        self.clock = TestClock(self._runs)
        try:
            self._redis = MemoryRedis()
        except ConfigError:
            self.clock.close()
            raise
        self.clock.serve(self._redis)
        self._record = EnqueuedJobs(self._redis)
        self._line = self._redis.line()
        #: The Redis: give ``redis.target`` as ``redis`` to further hubs and workers, and have it go away.
        self.redis = TestRedis(self._redis, self.clock, lambda: [self._line, *self._workers])
        self.hub: Hub = Hub(self._line.url)
        try:
            self.hub = Hub(self._line.url, **(hub or {})) if jobs != "inline" else InlineHub(self._line.url, **(hub or {}))
            self.worker = self.start_worker()
        except BaseException:
            self.close()
            raise
        if isinstance(self.hub, InlineHub):
            self.hub.run_inline(self._runs, self._record, self.clock, self.worker)

    def start_worker(self, *tasks: Task[..., Any], **options: Any) -> TestWorker:
        """
        Starts another worker with the same tasks and options, except those passed. ``close`` stops it too.

        :raises ConfigError: for invalid options
        """
        worker = self._make_worker(tasks or self._tasks, options, takes_jobs=not self._waits)
        self._workers.append(worker)
        return worker.start() if tasks or self._tasks else worker

    def enqueued(self, task: Called | None = None) -> list[EnqueuedJob]:
        """
        The jobs enqueued so far, of one task (``name`` matches any version) or all, the first one first, whoever enqueued them.
        Duplicates of ``unique`` jobs, rejected jobs, and jobs of schedules and later steps of chains are not included.
        """
        return self._record.of(task)

    def expect_enqueued(self, task: Called, args: Any = MISSING) -> EnqueuedJob:
        """
        Expects a job that was enqueued with these arguments, or with any; arguments may contain ``unittest.mock.ANY``. Returns the first
        match.

        :raises AssertionError: when there is none; its message lists the enqueued jobs
        """
        return self._record.expect(task, args)

    def drain(self, timeout: float = 5.0) -> int:
        """
        Runs all due jobs, and the jobs that they enqueue, until none is left. Returns how many handlers ran. Scheduled jobs stay.

        :param timeout: how long handlers may take in total, in real seconds
        :raises AssertionError: when they take longer
        :raises ConfigError: when the kit was closed
        """
        if self._is_closed:
            raise closed()
        before = self._runs.count
        drainer = self._make_worker(self._tasks, {}, takes_jobs=True).start() if self._waits and self._tasks else None
        try:
            self._empty(time.monotonic() + timeout, timeout)
        finally:
            if drainer is not None:
                drainer.stop(0)
        return self._runs.count - before

    def close(self) -> None:
        """Closes everything."""
        if self._is_closed:
            return
        self._is_closed = True
        self._redis.come_back()
        self.hub.close()
        for worker in self._workers:
            worker.stop(0)
        for worker in self._workers:
            worker.buried()
        self.clock.close()
        self._redis.close()

    def __enter__(self) -> InMemory:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _make_worker(self, tasks: tuple[Task[..., Any], ...], options: Mapping[str, Any], takes_jobs: bool) -> TestWorker:
        given = {**self._options, **options}
        given["job_slots"] = given.get("job_slots", given["slots"]) if takes_jobs else 0
        return TestWorker(self._redis, self._runs, tasks, given)

    def _empty(self, end: float, timeout: float) -> None:
        moved_s = 0.0
        while True:
            self.clock.quiet(end=end)
            left = self._redis.ask(b"left")
            if not left and self._runs.running == 0:
                return
            if time.monotonic() > end:
                what = ", ".join(f"{int(count)} in {name.decode()}" for name, count in zip(left[::2], left[1::2])) or "none"
                raise AssertionError(f"drain() timed out after {timeout:g} s: {self._runs.running} handlers run; left are {what}.")
            # Handlers end by themselves; what only lies there waits for a beat, a release or a rest.
            if self._runs.running == 0 and moved_s < _BEAT_S:
                moved_s += self.clock.step(0.05, end)
            else:
                time.sleep(0.001)
