"""Takes work for idle slots and for nothing else: with no slot idle it does not touch Redis."""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, List, NamedTuple, Optional, Sequence, Set

from ...queue.queue import ClaimOptions, MergedTask, PostedClaim, Queue
from ...redis.connection import Connection
from ...redis.refusals import ReplyError, first
from ...wire.answers import Claimed
from ...wire.clock import Stop, backoff_s, now_s, sleep, spawn
from ...wire.redis_clock import RedisClock
from ..slots import Slots

#: An answer that is older, because this process was stopped or got no turn, is only used after a look at the lease.
_STALE_US = 100_000


class _Sent(NamedTuple):
    """A claim that is under way."""

    worker_id: str
    connection: Connection
    claim: Any


class FetchLoop:
    """
    One claim is under way at a time. While the last one left work in the list, the next is sent at once, on the commands
    connection: replies are ahead of it there. Else it waits for the bell on its own connection. After a claim that brought what only
    others can run it waits, longer each time: that is in the list again. While as many jobs run as may, it does not listen for further
    ones: their bell would wake it again and again. When one of them ends, that wait is ended. While the queue is paused it takes
    nothing; the claim behind a wait that is ended then still runs, because it is in Redis.
    """

    def __init__(
        self,
        queue: Queue,
        waiting: Connection,
        commands: Connection,
        slots: Slots,
        clock: RedisClock,
        merging: Sequence[MergedTask],
        epoch: Callable[[], int],
        worker_id: Callable[[], str],
        age_s: Callable[[Claimed], Awaitable[float]],
        take: Callable[[Claimed, str, float], float],
        on_no_lease: Callable[[], Awaitable[Any]],
        on_due_bell: Callable[[], None],
        on_problem: Callable[[Exception], None],
    ) -> None:
        self._queue = queue
        self._waiting = waiting
        self._commands = commands
        self._slots = slots
        self._clock = clock
        #: Tasks that merge their jobs.
        self._merging = merging
        #: Of the queue's shards, as this worker knows it.
        self._epoch = epoch
        self._worker_id = worker_id
        #: How long ago, on Redis' clock, a claim was made; also finds out whether the lease is still held.
        self._age_s = age_s
        #: Starts what a claim brought, and says how long to rest before the next one.
        self._take = take
        self._on_no_lease = on_no_lease
        self._on_due_bell = on_due_bell
        self._on_problem = on_problem
        self._stopping = Stop()
        self._under_way: Optional["asyncio.Task[None]"] = None
        self._is_scheduled = False
        self._more_waits = True
        self._is_paused = False
        #: The wait that listens for calls alone, though jobs are taken here.
        self._deaf: Optional[PostedClaim] = None
        self._ending: "Set[asyncio.Task[None]]" = set()

    def start(self) -> None:
        self._next()

    def slots_idle(self) -> None:
        """
        Slots became idle; called in the turn of the loop in which the replies of what they ran were sent, or their releases
        confirmed.
        """
        # After a claim the next one is scheduled anyway; only while work waits it pays to send it in one write with these.
        if not self._is_scheduled or self._more_waits:
            self._next()
        deaf, arrived = self._deaf, self._deaf and self._deaf.arrived
        if deaf is not None and arrived is not None and self._slots.job_room > 0:
            self._deaf = None
            spawn(self._end_wait(deaf, arrived), self._ending)

    def pause(self) -> None:
        """
        Takes nothing more until ``resume``. To be said with each beat of the pause: what ends a wait may overtake that wait, which
        is sent on another connection.
        """
        self._is_paused = True
        client_id = self._waiting.client_id
        if self._under_way is not None and client_id is not None:
            self._queue.end_wait(self._commands, client_id)

    def resume(self) -> None:
        self._is_paused = False
        # The bell's token may be gone, and what it announced still waits.
        self._more_waits = True
        self._next()

    def stop(self) -> None:
        """No claim is started any more. One that waits for the bell is left to whoever closes its connection."""
        self._stopping.set()

    async def settled(self) -> None:
        if self._under_way is not None:
            await asyncio.wait({self._under_way})

    @property
    def _is_halted(self) -> bool:
        return self._is_paused or self._stopping.is_set

    def _next(self) -> None:
        if self._under_way is not None or self._is_halted or self._slots.idle <= 0:
            return
        # Here and now, so that it goes in one write with the replies ahead of it.
        sent = self._send() if self._connection.is_ready else None
        self._under_way = asyncio.get_running_loop().create_task(self._claim(sent))
        self._under_way.add_done_callback(self._ended)

    @property
    def _connection(self) -> Connection:
        return self._commands if self._more_waits else self._waiting

    def _send(self) -> _Sent:
        worker_id, connection = self._worker_id(), self._connection
        wait, jobs = not self._more_waits, self._slots.job_room
        is_deaf = wait and self._slots.takes_jobs and jobs <= 0
        wanted = ClaimOptions(self._slots.idle, jobs, wait, is_deaf, self._merging, self._epoch())
        claim = self._queue.post_claim(connection, worker_id, wanted)
        self._deaf = claim if is_deaf else None
        return _Sent(worker_id, connection, claim)

    async def _end_wait(self, deaf: PostedClaim, arrived: "asyncio.Future[List[Any]]") -> None:
        """Refused or lost: the wait ends by itself within seconds."""
        try:
            client_id = int(first(await arrived))
        except Exception:
            return
        if not deaf.posted.done():
            self._queue.end_wait(self._commands, client_id)

    def _ended(self, _: Any) -> None:
        self._under_way = None
        self._is_scheduled = True
        # Behind the replies of what finishes at once: writing the next wait first would hold them up.
        asyncio.get_running_loop().call_soon(self._again)

    def _again(self) -> None:
        self._is_scheduled = False
        self._next()

    async def _claim(self, sent: Optional[_Sent]) -> None:
        failures = 0
        while True:
            if sent is None:
                await self._connection.when_ready(self._stopping)
                if self._is_halted:
                    return
                sent = self._send()
            try:
                claimed = await self._queue.claimed(sent.connection, sent.claim, self._on_due_bell)
                if claimed is not None:
                    return await self._took(claimed, sent.worker_id)
                await self._on_no_lease()
                # The bell's token is taken, and what it announced still waits.
                self._more_waits = True
                # A beat that failed, on a full disk for one, must not make this a busy loop.
                wait_s = 0 if failures == 0 else backoff_s(failures, 0.05, 1.0)
            except Exception as error:
                # The answer may be lost with the claim made: what it took is found by reconcile. A wait that broke may have taken
                # the token with it, and what that announced still waits.
                if not isinstance(error, ReplyError):
                    self._more_waits = True
                elif not self._stopping.is_set:
                    self._on_problem(error)
                wait_s = backoff_s(failures, 0.02, 1.0)
            sent = None
            await sleep(wait_s, self._stopping)
            failures += 1

    async def _took(self, claimed: Claimed, worker_id: str) -> None:
        now_us = self._clock.at_us(now_s())
        # Deadlines went on meanwhile, and so did the lease: what this brought may be somebody else's by now.
        is_stale = bool(claimed.requests) and (now_us == 0 or now_us - claimed.now_us > _STALE_US)
        age_s = await self._age_s(claimed) if is_stale else 0.0
        # Under an identity that was lost: others have adopted it.
        rest_s = self._take(claimed, worker_id, age_s) if worker_id == self._worker_id() else 0.0
        self._more_waits = claimed.left > 0 or (claimed.jobs_left > 0 and self._slots.job_room > 0)
        if rest_s > 0:
            await sleep(rest_s, self._stopping)
