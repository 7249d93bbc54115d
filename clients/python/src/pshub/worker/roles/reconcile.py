"""Finds what Redis says is held here and this worker does not know of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...jobs.held_job import is_held_lost, is_held_out
from ...queue.queue import Queue
from ...redis.connection import Connection
from ...wire.answers import HeldText
from ...wire.clock import now_s
from ..slots import Slots


class Reconcile:
    """
    It would stay for ever: a live worker's lease never ends, so nobody adopts from it. Run with each beat, which brings what is held. An id counts as
    lost when two looks in a row found it unknown, because at a single look its claim may just be on its way here; and when the beat of
    the second one was sent behind the first one: of two beats close by both looks may meet the same claim on its way. While the answer
    of a claim is coming in that was sent before the first look, it may be what brings them.

    1. A claim whose answer was lost goes back to the list. It is not run here, because a claim for all idle slots is under way
       already, and would bring more than there is room for.
    2. Of an adoption whose answer was lost, what it left to this worker is answered; what is to be done in other queues is done.
    3. What was settled and released here was brought back by a replica that was promoted and had not heard of that: it is released
       again, and never run again.
    """

    def __init__(
        self,
        queue: Queue,
        connection: Connection,
        slots: Slots,
        worker_id: Callable[[], str],
        ignore_claims_of: Callable[[Sequence[str], int], None],
        answer: Callable[[Sequence[HeldText], str], None],
        forward: Callable[[Sequence[HeldText], str], None],
        problem: Callable[[str], Callable[[Exception], None]],
    ) -> None:
        self._queue = queue
        self._connection = connection
        self._slots = slots
        self._worker_id = worker_id
        self._ignore_claims_of = ignore_claims_of
        self._answer = answer
        self._forward = forward
        self._problem = problem
        #: Unknown at the last look, and since when, monotonic seconds.
        self._suspects: dict[str, float] = {}

    async def look(self, held: Sequence[str], now_us: int, sent_at: float, arriving_since: float = math.inf) -> None:
        """
        ``held``: ids of what is held; ``now_us`` is the beat's own time; ``sent_at`` when it was sent, monotonic seconds; ``arriving_since``
        when a claim was sent whose answer is coming in.
        """
        worker_id = self._worker_id()
        unknown = [id for id in held if not self._slots.knows(id)]
        lost = [id for id in unknown if self._suspects.get(id, math.inf) < min(sent_at, arriving_since)]
        now = now_s()
        self._suspects = {id: self._suspects.get(id, now) for id in unknown}
        if not lost or worker_id != self._worker_id():
            return
        await self._release_again([id for id in lost if self._slots.was_released(id)], worker_id)
        still_open = [id for id in lost if not self._slots.was_released(id)]
        claimed = [id for id in still_open if not is_held_lost(id) and not is_held_out(id)]
        await self._put_back(claimed, worker_id, now_us)
        others = [id for id in still_open if is_held_lost(id) or is_held_out(id)]
        found = await self._queue.held_texts(self._connection, worker_id, others)
        if worker_id == self._worker_id():
            self._answer([held for held in found if is_held_lost(held[0])], worker_id)
            self._forward([held for held in found if is_held_out(held[0])], worker_id)

    async def _release_again(self, ids: list[str], held_by: str) -> None:
        if ids:
            reason = f"Redis lost the record that {len(ids)} requests had ended here; they are not run again"
            self._problem("failover")(RuntimeError(reason))
            await self._queue.release(self._connection, held_by, ids)

    async def _put_back(self, ids: list[str], held_by: str, now_us: int) -> None:
        """
        The mark is the beat's own time, which is later than the claim that was lost and earlier than any that follows: an estimate
        of now would void the next claim too, again and again.
        """
        if not ids:
            return
        self._ignore_claims_of(ids, now_us)
        try:
            await self._queue.handback(self._connection, held_by, "head", ids)
        except Exception as error:
            self._problem("reconcile")(error)
