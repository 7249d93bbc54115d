"""Does in other queues what an end here asks for, and moves jobs into other shards."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence

from ...jobs.held_job import held_out
from ...jobs.job_text import moved_message
from ...queue.job_queue import JobEnd, JobQueue
from ...queue.queue import Queue
from ...redis.connection import Connection
from ...wire.answers import HeldText
from ...wire.clock import now_s, spawn
from ...wire.keys import Keys, is_queue_name
from ...wire.message import Request
from ...wire.redis_clock import RedisClock
from ..patience import Patience, may_pass
from ..slots import Slots

_TALLY = re.compile(r"tally ([A-Za-z0-9_-]+) ([A-Za-z0-9_-]+) (\w+)")


class Forward:
    """
    The next step of a chain is put in there, a batch is told. It is held here until it is done there, like a request, and adopted when
    this worker dies; whoever repeats it finds that it was done.
    """

    def __init__(
        self,
        keys: Keys,
        queue: Queue,
        job_queue: JobQueue,
        connection: Connection,
        slots: Slots,
        clock: RedisClock,
        worker_id: Callable[[], str],
        on_room: Callable[[], None],
        on_problem: Callable[[Exception], None],
    ) -> None:
        self._keys = keys
        self._queue = queue
        self._connection = connection
        self._job_queue = job_queue
        self._slots = slots
        self._clock = clock
        self._worker_id = worker_id
        #: More may be held here again.
        self._on_room = on_room
        self._on_problem = on_problem
        self._patience = Patience(connection, on_problem)
        self._queues: dict[str, JobQueue] = {}
        self._under_way: set[asyncio.Task[None]] = set()

    def send(self, outs: Sequence[HeldText], worker_id: str) -> None:
        for held_id, text in outs:
            if self._slots.know(held_id):
                spawn(self._send(held_id, text, worker_id), self._under_way)

    def move(self, job: Request, shard: str, worker_id: str) -> None:
        """
        A job that was taken and belongs into another shard: there it is put in, and here, behind that, the next one of its key may be
        taken.
        """
        spawn(self._move(job, shard, worker_id), self._under_way)

    async def drained(self) -> None:
        """Returns when all that was given here is done, or left to stop()."""
        while self._under_way:
            await asyncio.wait(set(self._under_way))

    def stop(self) -> None:
        """What is not done yet stays held: the next worker adopts it."""
        self._patience.stop()

    async def _send(self, held_id: str, raw: bytes, worker_id: str) -> None:
        self._slots.send_out(held_id)
        text, out = raw.decode("utf-8", "replace"), held_out(held_id)
        target = self._queue_of(out[0]) if out and is_queue_name(out[0]) else None
        tally = _TALLY.fullmatch(text)

        async def act() -> None:
            # Under an identity that was lost: others have adopted it.
            if worker_id != self._worker_id():
                return
            if target is not None:
                await self._hand_over(target, tally, text)
            await self._queue.release(self._connection, worker_id, [held_id])
            # Not remembered: should Redis forget this, it is done again, and known to have come where it did.
            self._slots.forget([held_id])

        is_done = await self._patience.until_done(act) and worker_id == self._worker_id()
        if is_done and target is not None and out is not None and tally is None:
            await self._forget(target, out[1])

    async def _move(self, job: Request, shard: str, worker_id: str) -> None:
        self._slots.send_out(job.held_id)
        target, at = self._queue_of(shard), self._slots.at_of(job.held_id)
        end = JobEnd(job.held_id, "moved", text=shard)

        async def act() -> None:
            if worker_id != self._worker_id():
                return
            message = moved_message(job.text, self._clock.at_us(now_s()))
            await self._hand_over(target, None, message)
            await self._job_queue.settle(self._connection, worker_id, [(end, at)])
            self._slots.forget([job.held_id])
            self._on_room()

        if await self._patience.until_done(act) and worker_id == self._worker_id():
            await self._forget(target, job.id)

    async def _hand_over(self, target: JobQueue, tally: re.Match[str] | None, text: str) -> None:
        # What was pushed by hand there goes as it came.
        if tally is not None:
            await target.tally(self._connection, tally[1], tally[2], tally[3])
        else:
            await target.forward(self._connection, text)

    async def _forget(self, target: JobQueue, id: str) -> None:
        """It is released, so it is not done again: this alone is retried. Where it is never done, what remembers it there expires."""
        await self._patience.until_done(lambda: target.forget(self._connection, id), may_pass)

    def _queue_of(self, name: str) -> JobQueue:
        queue: JobQueue | None = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = JobQueue(name, self._keys)
        return queue
