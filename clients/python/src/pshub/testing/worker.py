"""A worker in this process, which can be killed as its process could be, and started again."""

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
    """What ``in_memory`` and ``start_worker`` have started."""

    __test__ = False

    def __init__(self, redis: MemoryRedis, runs: Runs, tasks: Iterable[Task[..., Any]], options: dict[str, Any]) -> None:
        self._redis = redis
        self._tasks = [runs.noted(each) for each in tasks]
        self._options = options
        self._present: tuple[Worker, Line] | None = None
        self._dead: list[threading.Thread] = []

    @property
    def worker(self) -> Worker:
        """The worker itself. :raises ConfigError: when none runs"""
        if self._present is None:
            raise ConfigError("This worker is stopped or killed; start() makes a new one.")
        return self._present[0]

    @property
    def busy(self) -> int:
        """Requests that run now."""
        return self._present[0].busy if self._present else 0

    @property
    def connections(self) -> int:
        return self._present[1].connections if self._present else 0

    @property
    def queues(self) -> set[str]:
        """That it was told to serve."""
        return {self._present[0]._settings.queue} if self._present else set()

    def start(self) -> TestWorker:
        """Starts one, also after ``die`` and ``stop``: it is a new one, as a process that was started again. :raises ConfigError: when it runs"""
        if self._present is not None:
            raise ConfigError("This worker is already running.")
        line = self._redis.line()
        worker = Worker(line.url, tasks=self._tasks, **{"lease": _LEASE_S, **self._options})
        worker.start()
        self._present = (worker, line)
        return self

    def stop(self, grace: float | None = None) -> None:
        """Lets what runs finish, for ``grace`` seconds, and says goodbye, as on SIGTERM."""
        present, self._present = self._present, None
        if present is not None:
            present[0].stop(grace)
            present[1].cut()

    def die(self) -> None:
        """
        As if its process were killed: its connections are gone with all that was under way, and its lease ends 4 s later, on the test's clock, when
        another worker takes over what it held. Its handlers are told to stop: the process of the test goes on, so they do, too, and what they
        return reaches nobody.

        :raises ConfigError: when none runs
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
        """Returns when nothing of those that died is left in this process."""
        for burial in self._dead:
            burial.join()
