"""Takes over what lost workers held."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from ...figures.events import Events
from ...jobs.held_job import plain_id
from ...queue.queue import Queue
from ...redis.connection import Connection
from ...redis.refusals import ReplyError
from ...wire.answers import Adopted, HeldText
from ...wire.clock import now_s
from ...wire.errors import told_error
from ...wire.keys import Keys
from ...wire.message import MalformedMessage, Request, decode_request, error_reply
from ...wire.redis_clock import RedisClock
from ..slots import Slots
from .settle import Settlement

# After an interruption of its own a worker adopts nothing for this long, and after a step of Redis' clock: every lease has ended
# then, and the others must have time to renew theirs.
_GRACE_S = 2.0
_INTERRUPTION_S = 1.8


class Adopt:
    """
    An idempotent call that still has time, and any job, goes back to the head of its list; any other call is answered WorkerLost at
    once, instead of keeping its caller waiting until the deadline. What its workers died of, again and again, ends: a call is
    answered, a job is kept with the dead ones. All of that is decided in Redis; what is left to do here is to answer, and to tell.
    """

    def __init__(
        self,
        keys: Keys,
        queue: Queue,
        connection: Connection,
        slots: Slots,
        clock: RedisClock,
        events: Events,
        worker_id: Callable[[], str],
        settle: Callable[[Settlement], None],
        forward: Callable[[Sequence[HeldText], str], None],
        on_problem: Callable[[Exception], None],
    ) -> None:
        self._keys = keys
        self._queue = queue
        self._connection = connection
        self._slots = slots
        self._clock = clock
        self._events = events
        self._worker_id = worker_id
        self._settle = settle
        #: Does what is to be done in other queues.
        self._forward = forward
        self._on_problem = on_problem
        self._last_beat_at = now_s()
        self._not_before = now_s() + _GRACE_S
        self._under_way: asyncio.Task[None] | None = None

    def on_beat(self, ended: list[str]) -> None:
        """``ended`` are workers whose leases have ended."""
        now = now_s()
        if now - self._last_beat_at > _INTERRUPTION_S:
            self._not_before = now + _GRACE_S
        self._not_before = max(self._not_before, self._clock.stepped_at + _GRACE_S)
        self._last_beat_at = now
        if not ended or now < self._not_before or self._under_way is not None:
            return
        self._under_way = asyncio.get_running_loop().create_task(self._adopt_from(ended))
        self._under_way.add_done_callback(self._ended)

    async def stop(self) -> None:
        if self._under_way is not None:
            await asyncio.wait({self._under_way})

    def _ended(self, _: asyncio.Task[None]) -> None:
        self._under_way = None

    async def _adopt_from(self, ended: list[str]) -> None:
        for lost in ended:
            try:
                await self._adopt_all(lost)
            except Exception as error:
                # Those behind it are not to wait for what is wrong with this one. It is tried again with a later beat.
                if isinstance(error, ReplyError):
                    self._on_problem(error)

    async def _adopt_all(self, lost: str) -> None:
        done = False
        while not done:
            worker_id = self._worker_id()
            adopted = await self._queue.adopt(self._connection, lost, worker_id)
            if adopted is None or worker_id != self._worker_id():
                return
            done = adopted.done
            self.answer(adopted.to_answer, worker_id)
            self._forward(adopted.outs, worker_id)
            self._tell("request:redelivered", adopted.redelivered)
            self._tell("job:dead", adopted.dead)
            await self._tell_waiting(adopted, worker_id)
            count = len(adopted.to_answer) + len(adopted.redelivered) + len(adopted.dead)
            self._events.emit("worker:lost", worker=lost, queue=self._queue.name, adopted=count, by=worker_id)

    def answer(self, requests: Sequence[HeldText], worker_id: str) -> None:
        """Answers calls taken over from a lost worker; also those whose adoption was not answered, when reconcile finds them."""
        for id, text in requests:
            if not self._slots.know(id):
                continue
            request = self._decode(id, text)
            if request is None:
                # Nobody can be told of what is no request.
                self._settle(Settlement(id, worker_id, None, ""))
                continue
            self._settle(Settlement(id, worker_id, request.hub_id, _lost_reply(request, worker_id)))

    async def _tell_waiting(self, adopted: Adopted, worker_id: str) -> None:
        """Who waits for jobs that are dead now; they look again by themselves where this fails."""
        texts = dict(adopted.dead)
        for id, ticket, hub_id in adopted.told:
            request = self._decode(id, texts[id]) if id in texts else None
            if request is None:
                continue
            request.id = ticket
            try:
                await self._queue.reply(self._connection, hub_id, [_lost_reply(request, worker_id).encode()])
            except Exception as error:
                self._on_problem(error)

    def _tell(self, event: str, requests: Sequence[HeldText]) -> None:
        for id, text in requests:
            request = self._decode(id, text)
            if request is not None:
                more: Any = {"reason": _reason_of(request)} if event == "job:dead" else {"losses": request.losses}
                self._events.emit(event, queue=self._queue.name, task=request.task, id=request.id, **more)

    def _decode(self, id: str, text: bytes) -> Request | None:
        try:
            return decode_request(text, plain_id(id), self._keys)
        except MalformedMessage:
            return None


def _lost_reply(request: Request, worker_id: str) -> str:
    return error_reply(request, told_error("WorkerLost", f"{_reason_of(request)}."), worker_id, None)


def _reason_of(request: Request) -> str:
    if request.losses > 1:
        return f"{request.losses} workers that ran {request.task} crashed or lost their lease"
    return f"The worker that ran {request.task} crashed or lost its lease"
