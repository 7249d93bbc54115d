"""What a queue does for jobs alone, one atomic step each."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..redis.client import Word
from ..redis.connection import Connection
from ..redis.library import run
from ..redis.refusals import none_refused
from ..wire.answers import (
    Enqueued,
    Moved,
    SettledJobs,
    read_enqueued,
    read_moved,
    read_settled_jobs,
    texts_of,
)
from ..wire.foreign import LATEST_MS
from ..wire.keys import Keys
from .batches import MAX_BATCH_BYTES
from .queue import CANCEL_MEMORY_MS, DEAD_MS, MAX_DEAD, PUSH_MEMORY_MS

#: Read at a time.
_DUE_SCHEDULES = 20
#: The same of jobs, each of which may be a megabyte.
_DUE_AT_ONCE = 20
_ID = re.compile(rb'\{"at":[0-9]+,"ttl":[0-9]+,"id":"([A-Za-z0-9_-]+)"')
#: So many jobs are moved in one step when they are due: it takes Redis less than a millisecond.
_DUE_BATCH = 200
#: So many are told of the end of one job; others look again by themselves.
MAX_WAITERS = 100
#: A job that came from another queue is known for so long, in case the worker that sent it died before it knew.
CAME_MS = 30 * 24 * 3600 * 1000
#: A batch whose maker died before all its jobs were enqueued is forgotten after this.
OPEN_BATCH_MS = 24 * 3600 * 1000
#: What `key` answers where the queue's shards are of another epoch.
_OTHER_SHARDS = -3


class JobEnd(NamedTuple):
    """How a job ended that does not only go."""

    #: Its held id.
    id: str
    #: ``done``, ``retry``, ``pass``, ``putoff``, ``dead``, ``expired``, ``cancelled`` or ``moved``.
    outcome: str
    #: For a further try, or the first one that was put off: milliseconds from now.
    delay_ms: int = 0
    #: Its result as JSON, its failure as failure_text() has it, or the shard that it was moved to; empty for what was not run.
    text: str = ""
    #: The job that follows it, without its ``at``, behind the name of its queue and a space where that is another one; else empty.
    following: str = ""
    #: In the place of the delay, of a run of merged jobs, for each of its keys: ``r<ms>``, it failed and is tried again after that;
    #: ``d<place>``, it failed, and its payload of that place, counted from 1, is given up; ``x<place>``, the same of one that is no JSON;
    #: ``b<ms>``, it was not run and comes back after that.
    words: tuple[str, ...] | None = None


class DueSchedule(NamedTuple):
    """A schedule whose time has come."""

    name: str
    #: That time as it is there, which is to be given back; and Redis milliseconds.
    score: bytes
    tick_ms: int
    #: The entry; None where there is none.
    text: bytes | None


class JobQueue:
    def __init__(self, name: str, keys: Keys) -> None:
        self.name = name
        self.keys = keys.queue(name)
        self._both = [self.keys.jobs, self.keys.job_bell]

    async def enqueue(self, connection: Connection, hub_id: str, number: int, messages: Sequence[str]) -> Enqueued:
        """Puts jobs in, all of them or none. Repeated under the same number it does nothing."""
        keys = [*self._both, self.keys.enqueued(hub_id)]
        return read_enqueued(await run(connection, "enqueue", keys, [number, PUSH_MEMORY_MS, *messages]))

    async def replicas_of(self, connection: Connection, hub_id: str, ms: int) -> int:
        """
        How many replicas have all that this hub's last batch wrote, as soon as one has, or after ``ms``. Redis counts what this connection
        wrote, and a batch that is repeated on another one writes nothing: hence the write.
        """
        posted = connection.post(("PEXPIRE", self.keys.enqueued(hub_id), PUSH_MEMORY_MS), ("WAIT", 1, ms))
        return int(none_refused(await posted)[1])

    async def move_due(self, connection: Connection) -> Moved:
        """Moves what is due into its list. Harmless to repeat."""
        return read_moved(await run(connection, "due", self._both, [_DUE_BATCH, MAX_BATCH_BYTES]))

    async def settle(self, connection: Connection, worker_id: str, ends: Sequence[tuple[JobEnd, str]]) -> SettledJobs:
        """
        Ends jobs that this worker holds, each with its leading ``at``, empty where it has none; of what it holds no more, or holds again
        since, nothing is changed.
        """
        args: list[Word] = [MAX_DEAD, DEAD_MS]
        for end, at in ends:
            delay = end.delay_ms if end.words is None else " ".join(end.words)
            args += [end.id, at, end.outcome, delay, end.text, end.following]
        answer = await run(connection, "settle", [self.keys.held(worker_id), *self._both], args)
        return read_settled_jobs(answer, [end.id for end, _ in ends])

    async def forward(self, connection: Connection, message: str) -> bool:
        """
        Puts a job in that follows one of another queue, once, however often it is sent: as long as forget() is not called for it.
        Returns whether it came now.
        """
        return bool(await run(connection, "forward", self._both, [CAME_MS, message]) == 1)

    async def forget(self, connection: Connection, id: str) -> None:
        await connection.one("DEL", self.keys.came(id))

    async def remove_schedule(self, connection: Connection, name: str) -> bool:
        """Removes an entry that has jobs enqueued at its times. Returns whether there was one."""
        return bool(await run(connection, "schedule", [self.keys.jobs], [name, "", ""]) == 1)

    async def schedule(self, connection: Connection, name: str, text: str, next_ms: int | None, before: bytes | None) -> bool:
        """
        Writes an entry in the place of ``before``, as that was read; without a time it is paused. False where another one is there
        by now, and nothing was written.
        """
        args: list[Word] = [name, text, "" if next_ms is None else next_ms, before or b""]
        return bool(await run(connection, "schedule", [self.keys.jobs], args) != -1)

    async def tick(self, connection: Connection, due: DueSchedule, next_ms: int | None, message: str) -> bool:
        """The time of an entry has come: enqueues its job and sets its next time, unless somebody was quicker."""
        args: list[Word] = [due.name, due.score, "" if next_ms is None else next_ms, message]
        return bool(await run(connection, "tick", self._both, args) == 1)

    async def schedule_text(self, connection: Connection, name: str) -> bytes | None:
        found: bytes | None = await connection.one("HGET", self.keys.cron, name)
        return found

    async def next_ms_of(self, connection: Connection, name: str) -> int | None:
        """The next time of a schedule, Redis milliseconds; None for one that is paused."""
        score = await connection.one("ZSCORE", self.keys.ticks, name)
        return None if score is None else int(float(score))

    async def schedules(self, connection: Connection) -> tuple[dict[str, bytes], dict[str, int]]:
        """All entries, and the next times of those that have one, by their names."""
        texts = await connection.one("HGETALL", self.keys.cron)
        times = await connection.one("ZRANGE", self.keys.ticks, 0, -1, "WITHSCORES")
        return (
            dict(zip(texts_of(texts[::2]), texts[1::2])),
            dict(zip(texts_of(times[::2]), map(_moment_of, times[1::2]))),
        )

    async def due_schedules(self, connection: Connection, now_ms: int, left: int) -> list[DueSchedule]:
        """Entries whose time has come; the first ones, until ``now_ms``, but for so many that are left to others."""
        limit = ("LIMIT", left, _DUE_SCHEDULES, "WITHSCORES")
        flat = await connection.one("ZRANGEBYSCORE", self.keys.ticks, "-inf", now_ms, *limit)
        if not flat:
            return []
        texts = await connection.one("HMGET", self.keys.cron, *flat[::2])
        due = zip(texts_of(flat[::2]), flat[1::2], texts)
        return [DueSchedule(name, score, _moment_of(score), text) for name, score, text in due]

    async def tell_unkept(self, connection: Connection, due: DueSchedule, why: str) -> None:
        """Says why its time was left to others; that is seen until one of them takes it."""
        await connection.one("HSET", self.keys.cron, f"{due.name}:problem", f"{due.tick_ms} {why}")

    async def next_schedule(self, connection: Connection, left: int = 0) -> int | None:
        """When the next one is, Redis milliseconds, behind so many that are left to others."""
        flat = await connection.one("ZRANGE", self.keys.ticks, left, left, "WITHSCORES")
        return _moment_of(flat[1]) if flat else None

    async def count_dead(self, connection: Connection) -> int:
        return int(await connection.one("ZCARD", self.keys.dead))

    async def dead(self, connection: Connection, first: int, last: int) -> list[tuple[bytes, int]]:
        """Dead jobs as they lie there and when each was given up, Redis milliseconds; the latest first."""
        flat = await connection.one("ZRANGE", self.keys.dead, first, last, "REV", "WITHSCORES")
        return [(text, _moment_of(score)) for text, score in zip(flat[::2], flat[1::2])]

    async def delete_dead(self, connection: Connection, texts: Sequence[str]) -> int:
        return int(await connection.one("ZREM", self.keys.dead, *texts))

    async def lying_at(self, connection: Connection, state: str, id: str, at_ms: int) -> bytes | None:
        """A job that is ``scheduled`` or ``retrying`` for that time, exactly as it lies there; None where it does not."""
        lying = self.keys.scheduled if state == "scheduled" else self.keys.retries
        wanted = id.encode()
        first = 0
        while True:
            limit = ("BYSCORE", "LIMIT", first, _DUE_AT_ONCE)
            texts: list[bytes] = await connection.one("ZRANGE", lying, at_ms, at_ms, *limit)
            for text in texts:
                found = _ID.match(text)
                if found is not None and found[1] == wanted:
                    return text
            if len(texts) < _DUE_AT_ONCE:
                return None
            first += _DUE_AT_ONCE

    async def revive(self, connection: Connection, pairs: Sequence[tuple[str, str]]) -> int:
        """
        Jobs that are dead, or wait for their time or next try, exactly as they lie there, become others that wait to be taken. Returns how
        many were there.
        """
        args: list[Word] = [text for pair in pairs for text in pair]
        return int(await run(connection, "revive", self._both, args))

    async def act_on_key(self, connection: Connection, task: str, key: str, act: str, named: str) -> int:
        """
        Has a key ``run`` now, gives up what it is stuck at (``skip``), or deletes its payloads (``delete``). Returns how many jobs or
        payloads that concerned; -1 where nothing can be skipped because it runs, -2 where only a worker could.
        """
        args: list[Word] = [task, key, act, MAX_DEAD, DEAD_MS, named]
        return int(await run(connection, "key", self._both, args))

    async def has_key(self, connection: Connection, task: str, key: str, epoch: int) -> bool | None:
        """Whether a job of a key waits here, or runs; None where the queue's shards are not those of this epoch."""
        answer = int(await run(connection, "key", self._both, [task, key, "has", epoch, 0]))
        return None if answer == _OTHER_SHARDS else answer == 1

    async def open_batch(self, connection: Connection, id: str, after: str, failed: str) -> None:
        """What follows a batch whose jobs have all ended: messages without ``at``, or empty. To be repeated is harmless."""
        await run(connection, "batch", self._both, [id, "open", after, failed, OPEN_BATCH_MS])

    async def close_batch(self, connection: Connection, id: str, total: int) -> None:
        """All jobs of the batch are enqueued."""
        await run(connection, "batch", self._both, [id, "close", total, "", 0])

    async def tally(self, connection: Connection, batch: str, id: str, how: str) -> None:
        """A job of the batch has ended, in another queue."""
        await run(connection, "batch", self._both, [batch, id, how, "", 0])

    async def tell_progress(self, connection: Connection, id: str, progress: str, ms: int) -> None:
        """Says how far a job is that runs: for so long, unless it is said again."""
        await connection.one("SET", self.keys.progress(id), progress, "PX", ms)

    async def forget_progress(self, connection: Connection, id: str) -> None:
        await connection.one("DEL", self.keys.progress(id))

    async def progress(self, connection: Connection, id: str) -> Any:
        """What somebody said of it, unread."""
        return await connection.one("GET", self.keys.progress(id))

    async def batch(self, connection: Connection, id: str) -> dict[str, str]:
        """The record of a batch; empty when there is none."""
        return _fields_of(texts_of(await connection.one("HGETALL", self.keys.batch(id))))

    async def withdraw(self, connection: Connection, id: str, is_to_come: bool = False) -> str:
        """
        Cancels a tracked job. ``is_to_come``: one that is not there yet, as a later step of a chain, is kept away when it comes.
        Returns its state as it was, empty when none is known.
        """
        args: list[Word] = [id, CANCEL_MEMORY_MS, DEAD_MS if is_to_come else 0]
        state: bytes = await run(connection, "withdraw", [self.keys.jobs, self.keys.cancelled], args)
        return state.decode("utf-8", "replace")

    async def await_end(self, connection: Connection, id: str, ticket: str, hub_id: str, to_come_ms: float = 0) -> dict[str, str]:
        """
        The record of a tracked job. As long as it has not ended the hub is told of that, under this ticket; also where it is to come
        within ``to_come_ms``.
        """
        args: list[Word] = [ticket, hub_id, MAX_WAITERS, math.ceil(to_come_ms)]
        return _fields_of(texts_of(await run(connection, "await", [self.keys.job(id)], args)))

    async def record(self, connection: Connection, id: str) -> dict[str, str]:
        """The same without waiting for anything."""
        return _fields_of(texts_of(await connection.one("HGETALL", self.keys.job(id))))


def _moment_of(score: bytes) -> int:
    """Milliseconds; also of what others wrote there, as infinity."""
    return int(max(0.0, min(float(score), LATEST_MS)))


def _fields_of(flat: Sequence[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2]))
