"""Publishes what one worker provides: its tasks and its card once per identity, its statistics with each beat."""

from __future__ import annotations

import os
import socket
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from .answers import ReplyError
from .config import Settings
from .connection import Command, Connection
from .errors import compact
from .events import Events
from .measures import Measured
from .queue import Queue
from .registry import REPUBLISH_MS, Catalogue, Providers
from .task import Task
from .version import __version__


class Registrar:
    def __init__(
        self, catalogue: Catalogue, queue: Queue, tasks: Mapping[str, Task], settings: Settings, events: Events
    ) -> None:
        self._catalogue = catalogue
        self._providers = Providers(catalogue)
        self._queue = queue
        self._tasks = tasks
        self._settings = settings
        self._events = events
        self._published_id: Optional[str] = None
        self._published_at = 0

    async def publish(
        self, connection: Connection, worker_id: str, now_ms: int, stats: Dict[str, Any], measured: Callable[[bool], Measured]
    ) -> None:
        """Cards go out with the first beat of an identity that gets them through, and again from time to time."""
        keys = self._catalogue.keys
        is_first = self._published_id != worker_id
        is_due = is_first or now_ms - self._published_at > REPUBLISH_MS
        commands: List[Command] = [("HSET", keys.stats, worker_id, compact(stats))]
        told = measured(is_due)
        for key, text in ((keys.taskstats, told.task_stats), (keys.failures, told.failures)):
            if text is not None:
                commands.append(("HSET", key, worker_id, text))
        if is_due:
            seconds = now_ms // 1000
            commands.append(("HSET", keys.workers, worker_id, compact(self._card(worker_id, seconds))))
            pairs: List[str] = []
            for name, task in self._tasks.items():
                pairs += [name, compact(task.card(self._queue.name, self._settings, seconds))]
            commands.append(("HSET", keys.tasks, *pairs))
        for answer in await connection.post(*commands):
            if isinstance(answer, ReplyError):
                raise answer
        if is_due:
            await self._catalogue.sweep(connection, now_ms)
        if is_first:
            await self._warn_of_conflicts(connection, worker_id)
        if is_due:
            self._published_id = worker_id
            self._published_at = now_ms

    async def publish_stats(self, connection: Connection, worker_id: str, stats: Dict[str, Any]) -> None:
        """Statistics out of turn."""
        await connection.one("HSET", self._catalogue.keys.stats, worker_id, compact(stats))

    async def is_idempotent(self, name: str, connection: Connection) -> bool:
        """Of a task of this queue, declared here or elsewhere; False when that cannot be found out."""
        own = self._tasks.get(name)
        if own is not None:
            return own.idempotent
        try:
            cards = await self._catalogue.task_cards(connection, [name])
        except Exception:
            return False
        return bool(cards) and cards[0].idempotent

    async def whereabouts(self, name: str, connection: Connection) -> Tuple[bool, Optional[str]]:
        """Whether a live worker of this queue takes requests for a task, and which queue its card names, if it has one."""
        slots = await self._providers.slots(connection, self._queue.keys.leases, name)
        cards = await self._catalogue.task_cards(connection, [name])
        return slots > 0, cards[0].queue if cards else None

    async def remove(self, connection: Connection, worker_id: str) -> None:
        await self._catalogue.remove_workers(connection, [worker_id])

    def _card(self, id: str, started: int) -> Dict[str, Any]:
        return {
            "id": id,
            "queue": self._queue.name,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "slots": self._settings.slots,
            "tasks": {name: task.digest for name, task in self._tasks.items()},
            "client": f"pshub-python/{__version__}",
            "started": started,
        }

    async def _warn_of_conflicts(self, connection: Connection, worker_id: str) -> None:
        """Two live workers with one version and two schemas: whoever of them takes a call decides what is valid."""
        ids = await self._catalogue.live_ids(connection, self._queue.keys.leases)
        others = await self._catalogue.worker_cards(connection, [id for id in ids if id != worker_id])
        for name, task in self._tasks.items():
            other = next((card for card in others if card.tasks.get(name, task.digest) != task.digest), None)
            if other is not None:
                self._events.emit("task:conflict", task=name, queue=self._queue.name, other=other.who)
