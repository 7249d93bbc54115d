"""Moves jobs whose time has come into their lists."""

from __future__ import annotations

import asyncio
import math
from typing import Callable, Optional

from ...queue.job_queue import JobQueue
from ...redis.connection import Connection
from ...redis.refusals import ReplyError
from ...wire.answers import Beat
from ...wire.clock import now_s
from ...wire.redis_clock import RedisClock

#: What is due later than this the beats tell of in time.
_HORIZON_S = 2.0


class Due:
    """
    One worker of a queue has the turn: its beats tell it when the first job is due, and it sleeps until then. A job that is due before
    all others rings a bell; whoever hears that looks, and sleeps until then, too. That two do so does no harm: what is not due stays,
    and what is moved is moved once.
    """

    def __init__(
        self, job_queue: JobQueue, connection: Connection, clock: RedisClock, on_problem: Callable[[Exception], None]
    ) -> None:
        self._job_queue = job_queue
        self._connection = connection
        self._clock = clock
        self._on_problem = on_problem
        self._timer: Optional[asyncio.TimerHandle] = None
        #: When that fires, Redis milliseconds.
        self._wakes_at = math.inf
        self._under_way: Optional["asyncio.Task[None]"] = None
        #: The bell rang while a move was under way, whose answer may not know of it.
        self._must_repeat = False
        self._is_stopped = False

    def on_beat(self, beat: Beat) -> None:
        if beat.due_ms is not None:
            self._sleep_until(beat.due_ms)

    def on_bell(self) -> None:
        """The bell rang: a job is due before all others."""
        self._move()

    async def stop(self) -> None:
        self._is_stopped = True
        self._cancel_timer()
        if self._under_way is not None:
            await asyncio.wait({self._under_way})

    def _sleep_until(self, due_ms: int) -> None:
        wait_s = due_ms / 1000 - self._clock.at_us(now_s()) / 1e6
        if self._is_stopped or wait_s > _HORIZON_S or due_ms >= self._wakes_at:
            return
        self._cancel_timer()
        self._wakes_at = due_ms
        # A millisecond later, so as not to be early by a part of one.
        self._timer = asyncio.get_running_loop().call_later(max(0.0, wait_s) + 0.001, self._move)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _move(self) -> None:
        self._cancel_timer()
        self._wakes_at = math.inf
        if self._is_stopped:
            return
        self._must_repeat = True
        if self._under_way is None:
            self._under_way = asyncio.get_running_loop().create_task(self._move_all())
            self._under_way.add_done_callback(self._ended)

    def _ended(self, _: "asyncio.Task[None]") -> None:
        self._under_way = None
        # The bell may have rung between the last look and here.
        if self._must_repeat:
            self._move()

    async def _move_all(self) -> None:
        try:
            while self._must_repeat and not self._is_stopped:
                self._must_repeat = False
                moved = await self._job_queue.move_due(self._connection)
                self._clock.learn(moved.now_us, now_s())
                if moved.due_ms is None:
                    continue
                if moved.count > 0 and moved.due_ms * 1000 <= moved.now_us:
                    self._must_repeat = True
                elif not self._must_repeat:
                    self._sleep_until(moved.due_ms)
        except Exception as error:
            self._must_repeat = False
            # The next beat of whoever has the turn tells of it again.
            if isinstance(error, ReplyError):
                self._on_problem(error)
