"""Enqueues the jobs of schedules when their times come."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable

from ...figures.events import Events
from ...jobs.cron import NO_CRON, UnknownZone
from ...jobs.cron_pattern import WrongPattern
from ...jobs.schedule_entry import read_entry, tick_of
from ...queue.job_queue import DueSchedule, JobQueue
from ...redis.connection import Connection
from ...redis.refusals import ReplyError
from ...wire.answers import Beat
from ...wire.clock import now_s
from ...wire.redis_clock import RedisClock
from ..alarm import Alarm, Next

#: What could not be done is tried again after this.
_AGAIN_S = 1.0
#: A time that is this late nobody keeps up. It is looked for, and told of, so often.
_UNKEPT_MS = 5000
_LOOK_S = 60.0


class Tick:
    """
    One worker of a queue has the turn, and sleeps until the next time; which of them is quickest does not matter, because each time is
    taken once, in the step that sets the next one. A worker without cronsim leaves it to others, and tells where there are none.
    """

    #: Whether this worker can do it.
    is_able = NO_CRON is None

    def __init__(
        self,
        job_queue: JobQueue,
        connection: Connection,
        clock: RedisClock,
        events: Events,
        on_problem: Callable[[Exception], None],
    ) -> None:
        self._job_queue = job_queue
        self._connection = connection
        self._clock = clock
        self._events = events
        self._on_problem = on_problem
        self._looks_at = now_s() + _UNKEPT_MS / 1000
        #: Entries in time zones that are not known here, and the times that were told of.
        self._left: dict[str, int] = {}
        self._alarm = Alarm(clock, self._tick_all if self.is_able else self._look, on_problem)

    def on_beat(self, beat: Beat) -> None:
        if self.is_able:
            self._alarm.sleep_until(beat.tick_ms)
        elif now_s() >= self._looks_at:
            self._looks_at = now_s() + _LOOK_S
            self._alarm.ring()

    def on_bell(self) -> None:
        """The bell of what is due rang: a schedule may be new."""
        if self.is_able:
            self._alarm.ring()

    async def stop(self) -> None:
        await self._alarm.stop()

    def _now_ms(self) -> float:
        return self._clock.at_us(now_s()) / 1000

    async def _look(self) -> Next:
        """For those who cannot do it."""
        at_ms = await self._job_queue.next_schedule(self._connection)
        if at_ms is not None and self._now_ms() - at_ms > _UNKEPT_MS:
            late = f"no worker runs the schedules of queue {self._job_queue.name}, and this one cannot"
            self._on_problem(RuntimeError(f"{late}: {NO_CRON}"))
        return Next(None)

    async def _tick_all(self) -> Next:
        failures, left, before = 0, 0, -1
        # What is left to others stays where it is, ahead of all that is due later.
        while before < left:
            before = left
            for due in await self._job_queue.due_schedules(self._connection, int(self._now_ms()), left):
                try:
                    failures += not await self._tick(due)
                except UnknownZone as error:
                    await self._leave(due, str(error))
                    left += 1
        at_ms = await self._job_queue.next_schedule(self._connection, left)
        return Next(at_ms, _AGAIN_S if failures > 0 else 0.0)

    async def _leave(self, due: DueSchedule, why: str) -> None:
        """A worker that knows the time zone takes its time; one line in the log says that it was not this one."""
        if due.name not in self._left:
            self._on_problem(RuntimeError(f"The schedule {due.name} is left to workers that know its time zone: {why}"))
        if self._left.get(due.name) != due.tick_ms:
            with contextlib.suppress(ReplyError):
                await self._job_queue.tell_unkept(self._connection, due, why)
        self._left[due.name] = due.tick_ms

    async def _tick(self, due: DueSchedule) -> bool:
        """False for what could not be done. Raises UnknownZone."""
        entry, message = read_entry(due.text), ""
        next_ms: int | None = None
        is_usable = entry is not None
        if entry is not None:
            try:
                message, next_ms = tick_of(entry, due.tick_ms, self._now_ms(), self._job_queue.name)
            except WrongPattern:
                is_usable = False
        if not is_usable:
            # What cannot be used has no times any more.
            self._on_problem(RuntimeError(f"The schedule {due.name} is invalid and no longer runs"))
        ticking: Awaitable[bool] = self._job_queue.tick(self._connection, due, next_ms, message)
        try:
            if await ticking and entry is not None:
                told = {"name": due.name, "task": entry.task, "tick_ms": due.tick_ms, "is_skipped": message == ""}
                self._events.emit("schedule:tick", queue=self._job_queue.name, **told)
        except ReplyError as error:
            self._on_problem(RuntimeError(f"{due.name}: {error}"))
            return False
        self._left.pop(due.name, None)
        return True
