"""Replies, then releases."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from ...jobs.held_job import plain_id
from ...jobs.verdict import answer_of, comes_back, unrun
from ...queue.batches import batches_of
from ...queue.job_queue import JobEnd, JobQueue
from ...queue.queue import Queue
from ...redis.connection import Connection
from ...wire.answers import HeldText
from ...wire.clock import spawn
from ..patience import Patience, may_pass
from ..slots import STUCK_S, Slot, Slots

#: For so long a release waits for further replies to go with.
_RELEASE_S = 0.005


class Settlement(NamedTuple):
    """A request that ended in this worker."""

    #: Its id in the held hash.
    id: str
    #: The worker id it was claimed under.
    worker_id: str
    #: None when nobody waits for a reply.
    hub_id: str | None
    reply: str
    #: What it ran in; None for what did not run.
    slot: Slot | None = None
    #: How a job ended, unless all that is left to do is to release it.
    job: JobEnd | None = None
    #: Which time of holding that job this ends: by its ``at``.
    at: str = ""

    @property
    def size(self) -> int:
        return len(self.reply) if self.job is None else len(self.job.text) + len(self.job.following)


class _Release(NamedTuple):
    worker_id: str
    ids: list[str]


class Settle:
    """
    What ended in one turn of the loop goes in one write: one push per hub. What is held is removed once these were answered, together
    with the next replies if there are any: whatever happens in between repeats a reply, which the hub recognises, instead of losing
    one.
    """

    def __init__(
        self,
        queue: Queue,
        job_queue: JobQueue,
        connection: Connection,
        slots: Slots,
        worker_id: Callable[[], str],
        is_lease_certain: Callable[[], bool],
        renew_lease: Callable[[], Awaitable[Any]],
        on_slots_idle: Callable[[], None],
        forward: Callable[[Sequence[HeldText], str], None],
        problem: Callable[[str], Callable[[Exception], None]],
    ) -> None:
        self._queue = queue
        self._job_queue = job_queue
        self._connection = connection
        self._slots = slots
        self._worker_id = worker_id
        #: False when the lease may have ended since it was renewed last: others may answer for what we hold.
        self._is_lease_certain = is_lease_certain
        self._renew_lease = renew_lease
        #: In the turn in which the replies of what they ran were sent, or their releases confirmed.
        self._on_slots_idle = on_slots_idle
        #: Does what is to be done in other queues.
        self._forward = forward
        self._problem = problem
        self._on_problem = problem("settle")
        self._patience = Patience(connection, self._on_problem)
        self._batch: list[Settlement] = []
        #: Their replies are in Redis: to be released with the next flush.
        self._answered: list[_Release] = []
        self._is_due = False
        self._later: asyncio.TimerHandle | None = None
        self._under_way: set[asyncio.Task[None]] = set()

    def add(self, settlement: Settlement) -> None:
        at = self._slots.at_of(settlement.id)
        self._batch.append(settlement._replace(at=at) if at else settlement)
        self._flush_soon()

    async def drained(self) -> None:
        """Returns when everything added so far is confirmed, refused for good, or left to stop()."""
        while True:
            self._flush()
            if not self._under_way:
                return
            await asyncio.wait(set(self._under_way))

    def stop(self) -> None:
        """Ends the retries of what could not be sent."""
        self._patience.stop()

    def _flush_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        """Sends here and now where it can be, so that the next claim goes in the same write, behind it."""
        self._is_due = False
        if self._later is not None:
            self._later.cancel()
            self._later = None
        answered, self._answered = self._answered, []
        ended, self._batch = self._batch, []
        if answered:
            self._release(answered)
        for batch in self._batches_of(ended):
            replying = self._post(batch) if self._is_lease_certain() else None
            spawn(self._deliver(batch, replying), self._under_way)
        for each in ended:
            self._slots.free(each.slot)
        if ended:
            self._on_slots_idle()

    def _batches_of(self, ended: list[Settlement]) -> list[list[Settlement]]:
        """Where hubs hear at servers of their own, one that is away must not keep the others waiting."""
        by_hub: dict[str | None, list[Settlement]] = {}
        for each in ended:
            by_hub.setdefault(each.hub_id if self._connection.is_spread else None, []).append(each)
        return [batch for own in by_hub.values() for batch in batches_of(own, lambda each: each.size)]

    async def _deliver(self, batch: list[Settlement], replying: Awaitable[None] | None) -> None:
        async def again() -> None:
            if not self._is_lease_certain():
                await self._renew_lease()
            await self._post(batch)

        timer = self._connection.is_spread and asyncio.get_running_loop().call_later(STUCK_S, self._stick, batch)
        await self._patience.until_done(again, may_pass, replying)
        if timer:
            timer.cancel()
        worker_id = self._worker_id()
        own = [each for each in batch if each.worker_id == worker_id]
        jobs = [(each.job, each.at) for each in own if each.job is not None]
        if jobs:
            # Whatever refuses it: a job is done, or waits, or is dead, or held.
            await self._patience.until_done(lambda: self._settle_jobs(jobs, worker_id))
        ids = [each.id for each in own if each.job is None]
        if ids and not self._patience.is_over:
            self._release_soon(_Release(worker_id, ids))

    def _stick(self, batch: list[Settlement]) -> None:
        self._slots.stick(each.id for each in batch)
        self._on_slots_idle()

    async def _settle_jobs(self, jobs: Sequence[tuple[JobEnd, str]], worker_id: str) -> None:
        """In one step with their release. Who waits for them is told behind it, and looks again where that fails."""
        if worker_id != self._worker_id():
            return
        settled = await self._job_queue.settle(self._connection, worker_id, jobs)
        by_id = {end.id: end for end, _ in jobs}
        # What is tried again, or may be given another chance, comes under the same id: it must not pass for what has ended here.
        self._slots.settled((end.id, at) for end, at in jobs)
        self._forward(settled.outs, worker_id)
        self._on_slots_idle()
        if settled.dropped > 0:
            reason = f"{settled.dropped} of the oldest dead jobs were dropped to keep the latest ones"
            self._problem("dead")(RuntimeError(reason))
        for id, ticket, hub_id in settled.told:
            spawn(self._tell(by_id[id], ticket, hub_id, worker_id), self._under_way)

    async def _tell(self, end: JobEnd, ticket: str, hub_id: str, worker_id: str) -> None:
        try:
            if comes_back(end):
                # It ended all the same: it was cancelled meanwhile, or its time would be over.
                record = await self._job_queue.record(self._connection, plain_id(end.id))
                end = unrun(end.id, "cancelled" if record.get("state") == "cancelled" else "expired")
            await self._queue.reply(self._connection, hub_id, [answer_of(end, ticket, worker_id).encode()])
        except Exception:
            # Who waits looks again.
            return

    def _release_soon(self, release: _Release) -> None:
        """With the next replies, in one write: a write of their own would cost more than the releases do."""
        self._answered.append(release)
        if self._slots.idle <= 0:
            self._flush_soon()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(_RELEASE_S, self._flush)

    def _post(self, batch: list[Settlement]) -> Awaitable[None]:
        worker_id = self._worker_id()
        by_hub: dict[str, list[bytes]] = {}
        for each in batch:
            # Claimed under an identity that was lost: somebody else answers for it by now.
            if each.hub_id is not None and each.worker_id == worker_id:
                by_hub.setdefault(each.hub_id, []).append(each.reply.encode())
        return self._replied([self._queue.reply(self._connection, hub_id, texts) for hub_id, texts in by_hub.items()])

    async def _replied(self, replies: list[asyncio.Future[None]]) -> None:
        refused: Exception | None = None
        for reply in replies:
            try:
                await reply
            except Exception as error:
                # One hub's spoilt reply list must not keep the others' replies back.
                if may_pass(error):
                    refused = error
                else:
                    self._on_problem(error)
        if refused is not None:
            raise refused

    def _release(self, answered: list[_Release]) -> None:
        worker_id = self._worker_id()
        ids = [id for release in answered if release.worker_id == worker_id for id in release.ids]
        if ids:
            releasing = self._queue.release(self._connection, worker_id, ids)
            spawn(self._confirm(worker_id, ids, releasing), self._under_way)

    async def _confirm(self, worker_id: str, ids: list[str], releasing: Awaitable[None]) -> None:
        async def again() -> None:
            if worker_id == self._worker_id():
                await self._queue.release(self._connection, worker_id, ids)

        # Whatever refuses it, a right that was taken away for one: what is held would block its slots for ever.
        if await self._patience.until_done(again, under_way=releasing) and worker_id == self._worker_id():
            self._slots.released(ids)
        self._on_slots_idle()
