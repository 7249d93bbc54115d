"""Keeps the lease: renews it every second, and takes one under a new identity when it was lost."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any

from ...queue.queue import Queue
from ...redis.connection import Connection
from ...redis.refusals import NotConnected, ReplyError
from ...wire.answers import Beat
from ...wire.clock import Stop, now_s, sleep, within
from ...wire.redis_clock import RedisClock

BEAT_S = 1.0
#: A short lease is renewed more often: a beat that is late by half of it must not pass for a death.
BEATS_PER_LEASE = 4


class BeatLoop:
    def __init__(
        self,
        queue: Queue,
        connection: Connection,
        lease_s: float,
        clock: RedisClock,
        worker_id: Callable[[], str],
        on_lost: Callable[[], None],
        is_serving: Callable[[], bool],
        ticks: bool,
        publish: Callable[[int], Awaitable[None]],
        on_beat: Callable[[Beat, list[str] | None], None],
        on_registered: Callable[[], None],
        on_problem: Callable[[Exception], None],
    ) -> None:
        self._queue = queue
        self._connection = connection
        self._lease_s = lease_s
        self._clock = clock
        self._worker_id = worker_id
        self._on_lost = on_lost
        #: Only then it looks after what is due.
        self._is_serving = is_serving
        #: Whether it can look after schedules.
        self._ticks = ticks
        #: What the registry should know, sent behind each beat; given Redis' milliseconds.
        self._publish = publish
        self._on_beat = on_beat
        #: Told once, of the first beat that was held.
        self._on_registered = on_registered
        self._on_problem = on_problem
        self._stopping = Stop()
        self._loop: asyncio.Task[None] | None = None
        self._registered: str | None = None
        #: When the last beat that kept the lease was sent.
        self._sent_at = -math.inf
        self._under_way: asyncio.Task[Beat | None] | None = None
        self._publishing: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._loop is None:
            self._loop = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        self._stopping.set()
        for task in (self._loop, self._under_way):
            if task is not None:
                await asyncio.wait({task})
        if self._publishing is not None:
            await asyncio.wait({self._publishing})

    @property
    def is_certain(self) -> bool:
        """True while nobody can have adopted from this worker: counted from before the beat was sent, so it ends too early."""
        return now_s() < self._sent_at + self._lease_s

    @property
    def sent_at(self) -> float:
        """When the last beat that kept the lease was sent, monotonic seconds."""
        return self._sent_at

    async def beat_now(self) -> Beat | None:
        """Returns the beat when the lease is held, None when the connection is gone again."""
        task = self._under_way
        if task is None:
            task = self._under_way = asyncio.get_running_loop().create_task(self._beat())
            task.add_done_callback(self._ended)
        await asyncio.wait({task})
        return None if task.cancelled() else task.result()

    async def beat_anew(self) -> Beat | None:
        """The same with an answer of now, and not of one that waited here while this process had no turn."""
        if self._under_way is not None:
            await asyncio.wait({self._under_way})
        return await self.beat_now()

    def _ended(self, _: Any) -> None:
        self._under_way = None

    async def _run(self) -> None:
        every = min(BEAT_S, self._lease_s / BEATS_PER_LEASE)
        while not self._stopping.is_set:
            await self._connection.when_ready(self._stopping)
            if self._stopping.is_set:
                return
            started_at = now_s()
            await self.beat_now()
            await sleep(max(0.05, every - (now_s() - started_at)), self._stopping)

    async def _beat(self) -> Beat | None:
        is_first = self._registered is None
        try:
            beat, held = await self._renew()
            if not beat.held:
                self._on_lost()
                beat, held = await self._renew()
            self._on_beat(beat, held)
            if is_first and beat.held:
                self._on_registered()
            return beat
        except Exception as error:
            self._report(error)
            return None

    def _report(self, error: Exception) -> None:
        if isinstance(error, ReplyError):
            self._on_problem(error)

    async def _renew(self) -> tuple[Beat, list[str] | None]:
        worker_id = self._worker_id()
        if not self._connection.is_ready:
            raise NotConnected(self._connection.down_reason or "not connected to Redis yet")
        sent_at = now_s()
        is_first = self._registered != worker_id
        lease_ms = round(self._lease_s * 1000)
        # In one packet: of thousands of workers Redis has more to do for the packets than for what is asked. What is held is for later,
        # and must not cost the lease.
        beat, held = await asyncio.gather(
            self._queue.beat(self._connection, worker_id, lease_ms, is_first, self._is_serving(), self._ticks),
            self._held_ids(worker_id),
        )
        self._clock.learn(beat.now_us, now_s())
        # Known to Redis from here on, also when the registry cannot be written: a lost lease must not be taken as a first one.
        if not beat.held:
            return beat, held
        self._registered = worker_id
        self._sent_at = sent_at
        if self._publishing is None:
            self._publishing = asyncio.get_running_loop().create_task(self._published(beat.now_us // 1000))
        # Its server may be another one, and away; that must not cost the lease.
        await within(self._publishing, self._lease_s / BEATS_PER_LEASE)
        return beat, held

    async def _held_ids(self, worker_id: str) -> list[str] | None:
        try:
            return await self._queue.held_ids(self._connection, worker_id)
        except Exception:
            return None

    async def _published(self, now_ms: int) -> None:
        """The registry is for others to see; a full Redis refuses it, and all that a beat sets off must go on all the same."""
        try:
            await self._publish(now_ms)
        except Exception as error:
            self._report(error)
        finally:
            self._publishing = None
