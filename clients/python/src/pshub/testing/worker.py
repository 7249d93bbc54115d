"""A worker in this process that can be killed like a process, and started again."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from ..task.task import Task
from ..wire.clock import wall_ms
from ..wire.errors import ConfigError
from ..worker.worker import Worker
from .memory.server import Line, MemoryRedis
from .runs import Runs

#: The clock goes in strides: a lease lasts for these, but for who dies.
_LEASE_S = 600.0
#: What a lease is by default: so long it takes until others see that a worker died.
_DEATH_S = 4.0


class TestWorker:
    """The worker of ``in_memory`` or ``start_worker``."""

    __test__ = False

    def __init__(self, redis: MemoryRedis, runs: Runs, tasks: Iterable[Task[..., Any]], options: dict[str, Any]) -> None:
        self._redis = redis
        self._tasks = [runs.noted(each) for each in tasks]
        self._options = options
        self._present: tuple[Worker, Line] | None = None
        self._dead: list[threading.Thread] = []

    @property
    def worker(self) -> Worker:
        """The current worker. :raises ConfigError: when none is running"""
        if self._present is None:
            raise ConfigError("This worker is stopped or killed; start() makes a new one.")
        return self._present[0]

    @property
    def busy(self) -> int:
        """Number of running requests."""
        return self._present[0].busy if self._present else 0

    @property
    def connections(self) -> int:
        return self._present[1].connections if self._present else 0

    @property
    def queues(self) -> set[str]:
        """The queues it serves."""
        return {self._present[0]._settings.queue} if self._present else set()

    def start(self) -> TestWorker:
        """Starts a new worker, also after ``die`` and ``stop``. :raises ConfigError: when it is running"""
        if self._present is not None:
            raise ConfigError("This worker is already running.")
        line = self._redis.line()
        worker = Worker(line.url, tasks=self._tasks, **{"lease": _LEASE_S, **self._options})
        worker.start()
        self._present = (worker, line)
        return self

    def stop(self, grace: float | None = None) -> None:
        """Stops it gracefully: running tasks may finish for ``grace`` seconds, as on SIGTERM."""
        present, self._present = self._present, None
        if present is not None:
            present[0].stop(grace)
            present[1].cut()

    def die(self) -> None:
        """
        Kills it like a process: its connections and everything in flight are gone, and its lease expires 4 s later on the clock of the
        test, when another worker takes over its requests. Its handlers are notified; they keep running in this process, but their results
        reach nobody.

        :raises ConfigError: when none is running
        """
        if self._present is None:
            raise ConfigError("This worker is already stopped or killed.")
        (worker, line), self._present = self._present, None
        ids = worker._service.ids if worker._service else []
        line.cut()
        self._redis.ask(b"lapse", b"%d" % (wall_ms() + _DEATH_S * 1000), *(id.encode() for id in ids))
        burial = threading.Thread(target=worker.stop, args=(0,), name="pshub-burial", daemon=True)
        burial.start()
        self._dead.append(burial)

    def buried(self) -> None:
        """Returns when nothing of killed workers runs in this process."""
        for burial in self._dead:
            burial.join()
