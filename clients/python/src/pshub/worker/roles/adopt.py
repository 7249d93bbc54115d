"""Takes over what lost workers held."""

from __future__ import annotations

import asyncio
from typing import Awaitable, Callable, List, NamedTuple, Optional, Sequence, Tuple

from ...figures.events import Events
from ...queue.batches import batches_of
from ...queue.queue import Queue
from ...redis.connection import Connection
from ...redis.refusals import ReplyError
from ...wire.clock import now_s
from ...wire.errors import told_error
from ...wire.message import Request, error_reply, with_losses
from ...wire.redis_clock import RedisClock
from ..slots import Slots
from .settle import Settlement

# After an interruption of its own a worker adopts nothing for this long, and after a step of Redis' clock: every lease has ended
# then, and the others must have time to renew theirs.
_GRACE_S = 2.0
_INTERRUPTION_S = 1.8
#: A call whose workers died this often is not given to another one.
_MAX_LOSSES = 3


class _Verdict(NamedTuple):
    again: Optional[bytes]
    hub_id: Optional[str] = None
    reply: str = ""


class Adopt:
    """
    An idempotent call that still has time goes back to the head of the list; any other is answered WorkerLost at once, instead of
    keeping its caller waiting until the deadline.
    """

    def __init__(
        self,
        queue: Queue,
        connection: Connection,
        slots: Slots,
        clock: RedisClock,
        events: Events,
        worker_id: Callable[[], str],
        decode: Callable[[bytes, str], Optional[Request]],
        is_idempotent: Callable[[str], Awaitable[bool]],
        settle: Callable[[Settlement], None],
        on_problem: Callable[[Exception], None],
    ) -> None:
        self._queue = queue
        self._connection = connection
        self._slots = slots
        self._clock = clock
        self._events = events
        self._worker_id = worker_id
        self._decode = decode
        self._is_idempotent = is_idempotent
        self._settle = settle
        self._on_problem = on_problem
        self._last_beat_at = now_s()
        self._not_before = now_s() + _GRACE_S
        self._under_way: Optional["asyncio.Task[None]"] = None

    def on_beat(self, ended: List[str], now_us: int) -> None:
        """``ended`` are workers whose leases have ended."""
        now = now_s()
        if now - self._last_beat_at > _INTERRUPTION_S:
            self._not_before = now + _GRACE_S
        self._not_before = max(self._not_before, self._clock.stepped_at + _GRACE_S)
        self._last_beat_at = now
        if not ended or now < self._not_before or self._under_way is not None:
            return
        self._under_way = asyncio.get_running_loop().create_task(self._adopt_from(ended, now_us))
        self._under_way.add_done_callback(self._ended)

    async def stop(self) -> None:
        if self._under_way is not None:
            await asyncio.wait({self._under_way})

    def _ended(self, _: "asyncio.Task[None]") -> None:
        self._under_way = None

    async def _adopt_from(self, ended: List[str], now_us: int) -> None:
        for lost in ended:
            try:
                await self._adopt_all(lost, now_us)
            except Exception as error:
                # Those behind it are not to wait for what is wrong with this one. It is tried again with a later beat.
                if isinstance(error, ReplyError):
                    self._on_problem(error)

    async def _adopt_all(self, lost: str, now_us: int) -> None:
        done = False
        while not done:
            worker_id = self._worker_id()
            adopted = await self._queue.adopt(self._connection, lost, worker_id)
            if adopted is None or worker_id != self._worker_id():
                return
            done, requests = adopted
            await self.redirect(requests, worker_id, now_us)
            self._events.emit("worker:lost", worker=lost, queue=self._queue.name, adopted=len(requests), by=worker_id)

    async def redirect(self, requests: Sequence[Tuple[str, bytes]], worker_id: str, now_us: int) -> None:
        """Decides about requests taken over; also about those whose adoption was not answered, when reconcile finds them."""
        again: List[Tuple[str, bytes]] = []
        for id, text in requests:
            # Known, so that reconcile leaves it alone.
            if not self._slots.know(id):
                continue
            verdict = await self._verdict(text, id, now_us)
            if verdict.again is not None:
                again.append((id, verdict.again))
            else:
                self._settle(Settlement(id, worker_id, verdict.hub_id, verdict.reply))
        try:
            for batch in batches_of(again, lambda each: len(each[1])):
                await self._queue.handback(self._connection, worker_id, "head", batch)
        finally:
            # Did it fail, reconcile finds them again.
            self._slots.forget(id for id, _ in again)

    async def _verdict(self, text: bytes, id: str, now_us: int) -> _Verdict:
        request = self._decode(text, id)
        if request is None:
            return _Verdict(None)
        if request.ttl_ms > 0 and request.at_us is not None and now_us - request.at_us >= request.ttl_ms * 1000:
            return _Verdict(None)
        losses = request.losses + 1
        if id.startswith("lost:job:"):
            # A worker that takes jobs decides when it was lost too often.
            return _Verdict(with_losses(text, losses))
        if losses < _MAX_LOSSES and await self._is_idempotent(request.task):
            return _Verdict(with_losses(text, losses))
        if losses > 1:
            often = f"{losses} workers that ran {request.task} died"
        else:
            often = f"The worker that ran {request.task} died"
        error = told_error("WorkerLost", f"{often}; it may have been run.")
        return _Verdict(None, request.hub_id, error_reply(request, error, self._worker_id(), None))
