"""The worker: an event loop on its own thread for Redis, and threads for handlers."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Any

from ..figures.events import Events
from ..hub.loop import LoopThread
from ..outlets.log import log_events
from ..outlets.statsd import send_metrics
from ..redis.refusals import explained
from ..redis.target import RedisTarget
from ..settings.read import read_settings
from ..task.collection import check_tasks
from ..task.task import Task
from ..wire.errors import ConfigError
from ..wire.keys import forwarder_of
from ..wire.raised import message_of
from .async_runs import AsyncRuns
from .nested import NestedCalls
from .service import Service


class Worker:
    """
    Serves one queue with a fixed number of slots. Handlers run on threads, one per slot; coroutines share one event loop. Redis, and
    above all the lease, has a thread of its own, which a computing handler does not block.

    :param redis: Redis URL, or a dict of redis-py's connection options. Default: ``PSHUB_REDIS``, else redis://127.0.0.1:6379
    :param tasks: its tasks, made by ``@task``
    :param queue: queue to serve, with all its shards. Default: ``PSHUB_QUEUE``, else ``default``
    :param slots: requests to run at once. Default: ``PSHUB_SLOTS``, else 4
    :param job_slots: how many of the slots may run jobs, 0 for none. Default: ``PSHUB_JOB_SLOTS``, else half of them, rounded up
    :param namespace: as for Hub, like ``max_backlog`` and ``statsd``
    :param grace: seconds that running tasks may take when it stops. Default: ``PSHUB_GRACE_MS``, else 10
    :param lease: seconds without a heartbeat after which others take over, at least 2. Default: ``PSHUB_LEASE_MS``, else 4
    :param max_payload_bytes: largest arguments and results. Default: ``PSHUB_MAX_PAYLOAD_BYTES``, else 1 MiB
    :param health_port: port that answers probes: ``/livez``, ``/readyz``. Default: ``PSHUB_HEALTH_PORT``, else none
    :param build: build of the program, such as a git commit or an image tag: 1 to 64 characters. The charts of the registry show a new
      one as a deployment. Default: ``PSHUB_BUILD``, else none
    :param name: its name in metrics, 1 to 64 characters. Default: ``PSHUB_NAME``, else the name of the host
    :raises ConfigError: for an invalid setting
    """

    def __init__(
        self,
        redis: RedisTarget | None = None,
        *,
        tasks: Iterable[Task[..., Any]],
        queue: str | None = None,
        slots: int | None = None,
        job_slots: int | None = None,
        namespace: str | None = None,
        grace: float | None = None,
        lease: float | None = None,
        max_payload_bytes: int | None = None,
        max_backlog: int | None = None,
        health_port: int | None = None,
        build: str | None = None,
        statsd: str | None = None,
        name: str | None = None,
    ) -> None:
        options = {
            "redis": redis, "queue": queue, "slots": slots, "job_slots": job_slots, "namespace": namespace, "grace": grace,
            "lease": lease, "max_payload_bytes": max_payload_bytes, "max_backlog": max_backlog, "health_port": health_port,
            "build": build, "statsd": statsd, "name": name,
        }  # fmt: skip
        settings = self._settings = read_settings("worker", options)
        if (settings.job_slots or 0) > settings.slots:
            raise ConfigError(f"job_slots is {settings.job_slots}, but this worker has {settings.slots} slots in all.")
        forwarder = forwarder_of(settings.queue)
        if forwarder is not None:
            raise ConfigError(f"Queue {settings.queue} belongs to a forwarder: pshub forward {forwarder}.")
        self._tasks = check_tasks(tasks)
        self.events = Events()
        log_events(self.events)
        self._statsd = send_metrics(self.events, self._settings.statsd, self._settings.name)
        self._thread: LoopThread | None = None
        self._service: Service | None = None
        self._async_runs: AsyncRuns | None = None
        self._pid = os.getpid()
        self._stopped = threading.Event()

    @property
    def id(self) -> str | None:
        """A lost lease changes it. None before the start."""
        return self._service.id if self._service else None

    @property
    def redis(self) -> RedisTarget:
        """The Redis it serves."""
        return self._settings.redis

    @property
    def busy(self) -> int:
        """Number of running requests."""
        return self._service.pool.busy if self._service else 0

    def start(self) -> Worker:
        """
        Starts the worker. Returns when it is registered, or after about two seconds while Redis is unreachable: then it keeps
        reconnecting.

        :raises ConfigError: when ``health_port`` is taken, or this Redis cannot be used (too old, a replica, evicting, or missing rights
          or library)
        """
        if self._thread is not None:
            raise ConfigError("A worker is started once; make a new one.")
        thread = self._thread = LoopThread("pshub-worker")
        nested = NestedCalls(self._settings, self.events, thread)
        runs = self._async_runs = AsyncRuns(self.events, self._whose)
        service = self._service = Service(self._settings, self._tasks, self.events, thread.post, nested, runs)
        try:
            thread.run(service.start())
        except BaseException:
            # Nothing is left of it, which a stop() may come for all the same.
            thread.stop()
            self._stopped.set()
            raise
        return self

    def stop(self, grace: float | None = None) -> None:
        """
        Stops the worker: it claims no more requests, running tasks may finish for ``grace`` seconds (default: the setting), the rest
        returns to the queue, and the worker leaves the registry. Never raises. A second call may shorten the grace period. In a listener
        of its events it returns at once and stops the worker afterwards: use ``wait`` for the end.
        """
        thread, service = self._thread, self._service
        if thread is None or service is None or self._stopped.is_set() or self._pid != os.getpid():
            return
        if thread.is_current:
            # That thread cannot wait for itself.
            threading.Thread(target=self._end, args=(thread, service, grace), name="pshub-stop").start()
        else:
            self._end(thread, service, grace)

    def _end(self, thread: LoopThread, service: Service, grace: float | None) -> None:
        try:
            thread.run(service.stop(self._settings.grace if grace is None else grace))
        except Exception as error:
            self.events.emit("problem", where="stop", reason=explained(message_of(error)))
        if self._async_runs is not None:
            self._async_runs.stop()
        thread.stop()
        if self._statsd is not None:
            self._statsd.close()
        self._stopped.set()

    def _whose(self) -> dict[str, Any]:
        return {"worker": self.id, "queue": self._settings.queue}

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the worker has stopped."""
        return self._stopped.wait(timeout)

    def __enter__(self) -> Worker:
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()
