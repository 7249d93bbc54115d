"""Moves jobs whose time has come into their lists."""

from __future__ import annotations

from collections.abc import Callable

from ...queue.job_queue import JobQueue
from ...redis.connection import Connection
from ...wire.answers import Beat
from ...wire.clock import now_s
from ...wire.redis_clock import RedisClock
from ..alarm import Alarm, Next


class Due:
    """
    One worker of a queue has the turn: its beats tell it when the first job is due, and it sleeps until then. A job that is due before
    all others rings a bell; whoever hears that looks, and sleeps until then, too. That two do so does no harm: what is not due stays,
    and what is moved is moved once.
    """

    def __init__(self, job_queue: JobQueue, connection: Connection, clock: RedisClock, on_problem: Callable[[Exception], None]) -> None:
        self._job_queue = job_queue
        self._connection = connection
        self._clock = clock
        self._alarm = Alarm(clock, self._move, on_problem)

    def on_beat(self, beat: Beat) -> None:
        self._alarm.sleep_until(beat.due_ms)

    def on_bell(self) -> None:
        """The bell rang: a job is due before all others."""
        self._alarm.ring()

    async def stop(self) -> None:
        await self._alarm.stop()

    async def _move(self) -> Next:
        moved = await self._job_queue.move_due(self._connection)
        self._clock.learn(moved.now_us, now_s())
        is_more = moved.due_ms is not None and moved.jobs > 0 and moved.due_ms * 1000 <= moved.now_us
        return Next(moved.due_ms, is_more=is_more)
