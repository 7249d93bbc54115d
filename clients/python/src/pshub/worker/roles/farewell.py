"""The last steps of a worker that leaves on purpose."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ...catalogue.registrar import Registrar
from ...jobs.held_job import is_held_lost, is_held_out
from ...queue.queue import Queue
from ...redis.connection import Connection
from ...wire.clock import now_s
from ...wire.redis_clock import RedisClock
from ..slots import Slots


class Farewell:
    """
    What it holds goes back at once instead of when its lease ends. While Redis is away nothing can be handed back; then the lease ends
    by itself and others adopt what is held.
    """

    def __init__(
        self,
        queue: Queue,
        connection: Connection,
        slots: Slots,
        clock: RedisClock,
        registrar: Registrar,
        worker_id: Callable[[], str],
        stats: Callable[[int], dict[str, Any]],
        on_problem: Callable[[Exception], None],
    ) -> None:
        self._queue = queue
        self._connection = connection
        self._slots = slots
        self._clock = clock
        self._registrar = registrar
        self._worker_id = worker_id
        self._stats = stats
        self._on_problem = on_problem

    async def announce(self) -> None:
        """
        Tells the registry that this worker takes nothing any more. Before all else, and not with the next beat: a caller that counts on
        it waits for nothing until its deadline.
        """
        now_ms = self._clock.at_us(now_s()) // 1000
        # Without a beat nobody knows of this worker yet; its first one says so itself.
        if now_ms:
            await self._tried(self._publish(now_ms))

    async def hand_back_unknown(self) -> int:
        """The answer of the last claim may have been cut off; what it took goes back to others. Returns how many."""
        return await self._tried(self._put_back_unknown())

    async def leave(self) -> int:
        """
        Gives up the lease with all that is still held, and takes the worker out of the registry. Returns how much of that went back
        to the lists.
        """
        return await self._tried(self._give_up_lease())

    async def _tried(self, step: Awaitable[int]) -> int:
        try:
            return await step
        except Exception as error:
            if self._connection.is_ready:
                self._on_problem(error)
            return 0

    async def _publish(self, now_ms: int) -> int:
        await self._registrar.publish_stats(self._connection, self._worker_id(), self._stats(now_ms))
        return 0

    async def _put_back_unknown(self) -> int:
        slots = self._slots
        held = await self._queue.held_ids(self._connection, self._worker_id())
        known = (slots.knows, slots.was_released, is_held_lost, is_held_out)
        unknown = [id for id in held if not any(is_so(id) for is_so in known)]
        return await self._queue.handback(self._connection, self._worker_id(), "head", unknown) if unknown else 0

    async def _give_up_lease(self) -> int:
        worker_id, slots = self._worker_id(), self._slots
        # What a failover brought back after its release goes before: it must not return to the list.
        ended = [id for id in await self._queue.held_ids(self._connection, worker_id) if slots.was_released(id)]
        if ended:
            await self._queue.release(self._connection, worker_id, ended)
        handed_back = await self._queue.leave(self._connection, worker_id, slots.known_ids())
        await self._registrar.remove(self._connection, [worker_id])
        return handed_back
