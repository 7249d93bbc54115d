"""The schedules of a queue, on an event loop."""

from __future__ import annotations

import builtins
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from ..queue.job_queue import JobQueue
from ..redis.connection import Connection
from ..wire.errors import InvalidArgs
from ..wire.ids import new_id
from .chain import Step
from .cron import UnknownZone
from .job import AsyncJob, JobHost
from .schedule_entry import ScheduleEntry, ScheduleTimes, entry_text, need_cron, read_entry, run_message


class Schedule(NamedTuple):
    """
    A schedule of a queue.

    :ivar timezone: None: UTC
    :ivar missed: ``"once"``, ``"skip"``, or None for the default: once
    :ivar next_ms: its next run, Redis milliseconds; None if it is paused, or has none. A past time means that no worker runs the schedule
    :ivar paused_ms: since when it is paused; None if it is not
    """

    name: str
    queue: str
    cron: str
    timezone: str | None
    missed: str | None
    task: str
    args: Any
    next_ms: int | None
    paused_ms: int | None


class AsyncSchedules:
    """The schedules of one queue. The workers of that queue run them."""

    def __init__(self, host: Callable[[], JobHost], queue: str) -> None:
        self.queue = queue
        self._host = host

    async def list(self) -> builtins.list[Schedule]:
        """All schedules by name; unreadable ones are omitted. Raises NotEnqueued when Redis is unreachable, HubClosed."""
        job_queue = self._host().queue_of(self.queue)
        texts, times = await self._host().ask(job_queue.schedules)
        found = []
        for name in sorted(texts):
            entry = read_entry(texts[name])
            if entry is not None:
                found.append(self._shown(name, entry, times.get(name)))
        return found

    async def pause(self, name: str) -> bool:
        """Stops enqueuing until ``resume``. Returns False if there is no such schedule."""
        return await self._change(name, lambda entry, now_ms: entry.paused_ms or now_ms)

    async def resume(self, name: str) -> bool:
        """Continues with its next time; missed times are skipped. Raises ConfigError without cronsim."""
        need_cron()
        return await self._change(name, lambda entry, now_ms: None)

    async def run(self, name: str) -> AsyncJob[Any] | None:
        """Enqueues its job now and does not change its times. Returns the existing job if it is a duplicate, None if there is no such schedule."""
        host = self._host()
        job_queue, id = host.queue_of(self.queue), new_id()

        async def enqueue(connection: Connection) -> AsyncJob[Any] | None:
            entry = read_entry(await job_queue.schedule_text(connection, name))
            if entry is None:
                return None
            message = run_message(id, entry, self.queue, await connection.at(job_queue.keys.ticks).now_ms())
            # Its id is new: as the only batch of a hub of that name it comes once however often this is sent.
            twins = (await job_queue.enqueue(connection, id, 1, [message])).twins
            await connection.one("UNLINK", job_queue.keys.enqueued(id))
            return AsyncJob(self._host, self.queue, twins.get(0, id), entry.task, is_twin=bool(twins))

        return await host.change(enqueue)

    async def remove(self, name: str) -> bool:
        """Returns whether it existed."""
        job_queue = self._host().queue_of(self.queue)
        return await self._host().change(lambda connection: job_queue.remove_schedule(connection, name))

    async def write(self, name: str, times: ScheduleTimes, step: Step, from_: str) -> Schedule:
        """Writes a schedule, replacing one of the same name; a paused one stays paused."""
        job_queue = self._host().queue_of(self.queue)

        def renewed(before: ScheduleEntry | None, now_ms: int) -> ScheduleEntry:
            return ScheduleEntry(
                times["cron"], times.get("timezone"), times.get("missed"), step.task, step.args, step.job, step.ttl_ms,
                before.paused_ms if before else None, from_,
            )  # fmt: skip

        async def write(connection: Connection) -> Schedule:
            entry = await self._replace(job_queue, connection, name, renewed)
            assert entry is not None
            return self._shown(name, entry, await job_queue.next_ms_of(connection, name))

        return await self._host().change(write)

    def _change(self, name: str, paused_ms: Callable[[ScheduleEntry, int], int | None]) -> Awaitable[bool]:
        job_queue = self._host().queue_of(self.queue)

        def changed(before: ScheduleEntry | None, now_ms: int) -> ScheduleEntry | None:
            return before and before._replace(paused_ms=paused_ms(before, now_ms))

        async def change(connection: Connection) -> bool:
            return await self._replace(job_queue, connection, name, changed) is not None

        return self._host().change(change)

    async def _replace(
        self,
        job_queue: JobQueue,
        connection: Connection,
        name: str,
        make: Callable[[ScheduleEntry | None, int], ScheduleEntry | None],
    ) -> ScheduleEntry | None:
        """
        Writes what ``make`` makes of the entry that is there, again where somebody else wrote it meanwhile: a pause beside a
        deployment holds.
        """
        while True:
            text = await job_queue.schedule_text(connection, name)
            now_ms = await connection.at(job_queue.keys.ticks).now_ms()
            entry = make(read_entry(text), now_ms)
            if entry is None:
                return None
            try:
                next_ms = entry.next_ms(now_ms) if entry.paused_ms is None else None
            except UnknownZone as error:
                # Somebody wrote it who knows other time zones.
                raise InvalidArgs(f"schedule {name}: {error}.") from None
            if await job_queue.schedule(connection, name, entry_text(entry), next_ms, text):
                return entry

    def _shown(self, name: str, entry: ScheduleEntry, next_ms: int | None) -> Schedule:
        try:
            args = json.loads(entry.args)
        except (ValueError, RecursionError):
            raise InvalidArgs(f"The arguments of schedule {name} are not JSON.") from None
        return Schedule(
            name, self.queue, entry.cron, entry.timezone, entry.missed, entry.task, args, next_ms, entry.paused_ms
        )  # fmt: skip
