"""The one writer of the registry: what one worker provides, its tasks and its card once per identity, its statistics as it beats."""

from __future__ import annotations

import math
import os
import random
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..figures.events import Events
from ..queue.queue import Queue
from ..redis.client import Command, Word
from ..redis.connection import Connection
from ..redis.library import run
from ..redis.refusals import first, none_refused
from ..settings.table import Settings
from ..task.task import Task
from ..wire.answers import texts_of
from ..wire.clock import ignore
from ..wire.keys import Keys, is_queue_name
from ..wire.payload import compact
from ..wire.version import __version__
from .cards import WorkerCard, further_field
from .catalogue import Catalogue, unreadable_teller

#: Cards are rewritten this often, and go when none of their workers did so for a day.
REPUBLISH_MS = 10 * 60_000
_FORGET_TASK_S = 24 * 3600
_FORGET_WORKER_MS = 3600_000
#: So many workers write their statistics with each beat; more of them take turns, but write with each tenth at the least.
_TELLING_AT_ONCE = 2000
_MOST_BEATS = 10
# So much goes to Redis in one step, because it does nothing else meanwhile.
_BATCH_CARDS = 100
_BATCH_LENGTH = 1_000_000


class Whereabouts(NamedTuple):
    """Where a task is, as the registry says."""

    #: A live worker of this queue takes it.
    is_served: bool
    #: Somebody declared it once.
    is_declared: bool
    #: The queue that had it first, while live workers of that one take it.
    served_in: str | None


class Measured(NamedTuple):
    """Texts of what a worker measured of its tasks; None where nothing has changed since the last ones."""

    task_stats: str | None
    failures: str | None


class _Placed(NamedTuple):
    task: str
    card: str
    #: A queue that was found to have no live worker for it and is not first any more then, or empty.
    dead: str


class Registrar:
    def __init__(
        self, keys: Keys, queue: Queue, tasks: Mapping[str, Task[..., Any]], settings: Settings, events: Events,
        serves: Callable[[str], bool] = lambda queue: False,
    ) -> None:  # fmt: skip
        #: Whether the same worker serves a queue.
        self._serves = serves
        self._keys = keys
        self._catalogue = Catalogue(keys, unreadable_teller(events))
        self._queue = queue
        self._tasks = tasks
        self._settings = settings
        self._events = events
        self._published_id: str | None = None
        self._published_at = 0
        #: How many beats there are from statistics to statistics, and how many there were. Workers that began together are not in step.
        self._every_beats = 1
        self._beats = random.randrange(_MOST_BEATS)
        #: By which identity which tasks were told to be elsewhere.
        self._told: tuple[str, set[str]] = ("", set())

    async def publish(self, connection: Connection, worker_id: str, now_ms: int, stats: dict[str, Any], measured: Callable[[bool], Measured]) -> None:
        """To be told of each beat. Cards go out with the first one of an identity that gets them through, and again from time to time."""
        keys = self._keys
        is_first = self._published_id != worker_id
        is_due = is_first or now_ms - self._published_at > REPUBLISH_MS
        self._beats += 1
        # Callers must hear that it leaves, also when the word that it wrote out of turn was lost.
        if not (is_due or stats["draining"] or self._beats % self._every_beats == 0):
            return
        told = measured(is_due)
        commands: list[Command] = [("HSET", keys.stats, worker_id, compact(stats))]
        for key, text in ((keys.taskstats, told.task_stats), (keys.failures, told.failures)):
            if text is not None:
                commands.append(("HSET", key, worker_id, text))
        if is_due:
            commands.append(("HSET", keys.workers, worker_id, compact(self._card(worker_id, now_ms // 1000))))
        posted = connection.post(*commands)
        ignore(posted)
        if is_due:
            await self._declare(connection, worker_id, now_ms // 1000)
            await self._sweep(connection, now_ms)
        if is_first:
            await self._warn_of_conflicts(connection, worker_id)
        none_refused(await posted)
        if is_due:
            self._published_id = worker_id
            self._published_at = now_ms

    async def publish_stats(self, connection: Connection, worker_id: str, stats: dict[str, Any]) -> None:
        """Statistics out of turn."""
        await connection.one("HSET", self._keys.stats, worker_id, compact(stats))

    async def whereabouts(self, name: str, connection: Connection) -> Whereabouts:
        """Whether a live worker of this queue takes requests for a task, and if none does, where one may."""
        own = self._queue.name
        if await self._catalogue.slots(connection, own, name) > 0:
            return Whereabouts(True, True, own)
        cards = await self._catalogue.task_cards(connection, [further_field(name, own), name])
        first_queue = cards[-1].queue if cards else own
        if first_queue == own or not is_queue_name(first_queue):
            return Whereabouts(False, bool(cards), None)
        is_elsewhere = await self._catalogue.slots(connection, first_queue, name) > 0
        return Whereabouts(False, True, first_queue if is_elsewhere else None)

    async def remove(self, connection: Connection, worker_ids: Sequence[str]) -> None:
        if worker_ids:
            keys = self._keys
            # Of the slowest calls there are those of workers in other languages, which are swept here.
            hashes = (keys.workers, keys.stats, keys.taskstats, keys.slow, keys.failures)
            first(await connection.post(*(("HDEL", key, *worker_ids) for key in hashes)))

    async def _declare(self, connection: Connection, worker_id: str, seconds: int) -> None:
        """
        A task stays with the queue that had it first as long as that one has live workers for it. Then this one's card is a further
        one, of which its operators should know; else its queue is the first one from now on, as in any move.
        """
        limits = self._settings.max_payload_bytes, self._settings.max_backlog
        cards = {full: compact(task.card(self._queue.name, *limits, seconds)) for full, task in self._tasks.items()}
        elsewhere = await self._place(connection, [_Placed(task, card, "") for task, card in cards.items()])
        providers: dict[str, list[WorkerCard]] = {}
        for queue in set(elsewhere.values()):
            if is_queue_name(queue):
                providers[queue] = await self._catalogue.providers(connection, queue)
        left = [
            _Placed(task, cards[task], queue)
            for task, queue in elsewhere.items()
            if not any(task in worker.tasks for worker in providers.get(queue, []))
        ]
        for placed in left:
            del elsewhere[placed.task]
        elsewhere.update(await self._place(connection, left))
        for task, queue in elsewhere.items():
            self._tell_elsewhere(worker_id, task, queue)

    async def _place(self, connection: Connection, cards: Sequence[_Placed]) -> dict[str, str]:
        """Puts cards where they belong. Returns tasks that another queue has first, with that queue."""
        batches: list[list[Word]] = []
        room = 0
        for placed in cards:
            room -= len(placed.card) + _BATCH_LENGTH // _BATCH_CARDS
            if room < 0:
                batches.append([self._queue.name])
                room = _BATCH_LENGTH
            batches[-1] += placed
        found: dict[str, str] = {}
        for batch in batches:
            flat = texts_of(await run(connection, "declare", [self._keys.tasks], batch))
            found.update(zip(flat[::2], flat[1::2]))
        return found

    def _tell_elsewhere(self, worker_id: str, task: str, queue: str) -> None:
        """Once per identity and task."""
        if self._serves(queue):
            return
        if self._told[0] != worker_id:
            self._told = (worker_id, set())
        if task not in self._told[1]:
            self._told[1].add(task)
            self._events.emit("task:elsewhere", task=task, queue=self._queue.name, first=queue)

    async def _sweep(self, connection: Connection, now_ms: int) -> None:
        """
        Removes cards of tasks that nobody published for a day and of workers that are long gone: a page of them each time, and the
        next one the next time, because each worker does so. What cannot be read stays: its worker may be alive, and only a person
        can tell what it is.
        """
        cards = await self._catalogue.some_tasks(connection)
        stale = [field for field, card in cards if now_ms / 1000 - card.at > _FORGET_TASK_S]
        if stale:
            await connection.one("HDEL", self._keys.tasks, *stale)
        count, stats = await self._catalogue.some_stats(connection)
        gone = [id for id, told in stats if told.seen is not None and now_ms - told.seen > _FORGET_WORKER_MS]
        await self.remove(connection, gone)
        self._every_beats = min(_MOST_BEATS, max(1, math.ceil(count / _TELLING_AT_ONCE)))

    def _card(self, id: str, started: int) -> dict[str, Any]:
        build = self._settings.build
        return {
            "id": id,
            "queue": self._queue.name,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "slots": self._settings.slots,
            "tasks": {name: task.digest for name, task in self._tasks.items()},
            "client": f"pshub-python/{__version__}",
            **({} if build is None else {"build": build}),
            "started": started,
        }

    async def _warn_of_conflicts(self, connection: Connection, worker_id: str) -> None:
        """Two live workers with one version and two schemas: whoever of them takes a call decides what is valid."""
        others = [card for card in await self._catalogue.providers(connection, self._queue.name) if card.id != worker_id]
        for name, task in self._tasks.items():
            other = next((card for card in others if card.tasks.get(name, task.digest) != task.digest), None)
            if other is not None:
                self._events.emit("task:conflict", task=name, queue=self._queue.name, other=other.who)
