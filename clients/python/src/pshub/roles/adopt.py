"""Takes over what lost workers held."""

from __future__ import annotations

import asyncio
import re
from typing import Awaitable, Callable, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from ..clock import now_s
from ..connection import Connection, Word
from ..errors import compact
from ..events import Events
from ..message import Request, error_reply
from ..queue import Queue
from .settle import Settlement

# After an interruption of its own a worker adopts nothing for a while: when Redis was away every lease has ended, and the others
# must have time to renew theirs.
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
        events: Events,
        worker_id: Callable[[], str],
        take: Callable[[str], bool],
        forget: Callable[[Iterable[str]], None],
        decode: Callable[[bytes, str], Optional[Request]],
        is_idempotent: Callable[[str], Awaitable[bool]],
        settle: Callable[[Settlement], None],
    ) -> None:
        self._queue = queue
        self._connection = connection
        self._events = events
        self._worker_id = worker_id
        #: Marks a request as known, so that reconcile leaves it alone; False when it is known already.
        self._take = take
        self._forget = forget
        self._decode = decode
        self._is_idempotent = is_idempotent
        self._settle = settle
        self._last_beat_at = now_s()
        self._not_before = now_s() + _GRACE_S
        self._under_way: Optional["asyncio.Task[None]"] = None

    def on_beat(self, ended: List[str], now_us: int) -> None:
        """``ended`` are workers whose leases have ended."""
        now = now_s()
        if now - self._last_beat_at > _INTERRUPTION_S:
            self._not_before = now + _GRACE_S
        self._last_beat_at = now
        if not ended or now < self._not_before or self._under_way is not None:
            return
        self._under_way = asyncio.get_running_loop().create_task(self._adopt_from(ended, now_us))
        self._under_way.add_done_callback(self._ended)

    async def stop(self) -> None:
        if self._under_way is not None:
            await asyncio.wait({self._under_way})

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._under_way = None
        if not task.cancelled():
            # It is tried again with a later beat.
            task.exception()

    async def _adopt_from(self, ended: List[str], now_us: int) -> None:
        for lost in ended:
            done = False
            while not done:
                worker_id = self._worker_id()
                adopted = await self._queue.adopt(self._connection, lost, worker_id)
                if adopted is None or worker_id != self._worker_id():
                    break
                done, requests = adopted
                await self.redirect(requests, worker_id, now_us)
                self._events.emit(
                    "worker:lost", worker=lost, queue=self._queue.name, adopted=len(requests), by=worker_id
                )

    async def redirect(self, requests: Sequence[Tuple[str, bytes]], worker_id: str, now_us: int) -> None:
        """Decides about requests taken over; also about those whose adoption was not answered, when reconcile finds them."""
        again: List[Tuple[str, Word]] = []
        for id, text in requests:
            if not self._take(id):
                continue
            verdict = await self._verdict(text, id, now_us)
            if verdict.again is not None:
                again.append((id, verdict.again))
            else:
                self._settle(Settlement(id, worker_id, verdict.hub_id, verdict.reply, False))
        if not again:
            return
        try:
            await self._queue.handback(self._connection, worker_id, "head", again)
        finally:
            # Did it fail, reconcile finds them again.
            self._forget(id for id, _ in again)

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
        error = compact({"code": "WorkerLost", "message": f"{often}; it may have been run.", "retryable": False})
        return _Verdict(None, request.hub_id, error_reply(request.id, error, self._worker_id(), None))


_LOSSES = re.compile(rb',"losses":[0-9]+\}$')


def with_losses(text: bytes, losses: int) -> bytes:
    """The request with its count of lost workers, spliced in as text: its payload is never encoded anew."""
    return _LOSSES.sub(b"}", text.rstrip())[:-1] + b',"losses":%d}' % losses
