"""Jobs of one hub, on their way into a queue."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ..queue.batches import MAX_BATCH_BYTES, MAX_COUNT
from ..queue.job_queue import JobQueue
from ..queue.numbered import deliver_numbered
from ..redis.connection import Connection
from ..redis.refusals import ConnectionLost, NotConnected, ReplyError, explained, is_passing
from ..wire.answers import Enqueued
from ..wire.clock import Stop, now_s, start
from ..wire.deadlines import Deadlines
from ..wire.errors import hub_error
from ..wire.raised import message_of

#: A replica that is there answers within milliseconds; one that is away must not hold up what comes behind for longer.
_REPLICA_MS = 1000
_UNREPLICATED = (
    f"The job is in Redis, but no replica confirmed it within {_REPLICA_MS} ms. " + "If the master fails before a replica has it, the job is lost."
)
_DOUBT = "The connection broke while the job was sent, and Redis can no longer tell whether it arrived."


_CARRIES = re.compile(r'"ttl":\d+,"id":"[\w-]+","job":')


def weight_of(message: str) -> float:
    """
    What a job counts for in a write. One that carries more than its arguments takes Redis some 30 us, another one 4: a hundred of these
    are 3 ms in which it does nothing else.
    """
    return len(message) + (MAX_BATCH_BYTES / 100 if _CARRIES.match(message) else 0)


class _Parcel:
    """Jobs that are acknowledged together."""

    def __init__(self, messages: Sequence[str], timeout_ms: float, on_expired: Callable[[_Parcel], None]) -> None:
        self.messages = messages
        self.weight = sum(map(weight_of, messages))
        self.deadline = now_s() + timeout_ms / 1000
        self.in_doubt = False
        self.setback: str | None = None
        #: By place in ``messages``: the id of the job that is there already.
        self.outcome: asyncio.Future[dict[int, str]] = asyncio.get_running_loop().create_future()
        self._on_expired = on_expired

    @property
    def settled(self) -> bool:
        return self.outcome.done()

    def expire(self) -> None:
        self._on_expired(self)

    def refuse(self, code: str, message: str | None = None) -> None:
        if not self.settled:
            self.outcome.set_exception(hub_error(code, message))


class JobOutbox:
    """
    As with calls, one batch is under way at a time, under a number, and what comes meanwhile goes with the next one; so only the last
    batch can be in doubt, and it is repeated until Redis says what became of it.
    """

    def __init__(self, connection: Connection, queue: JobQueue, hub_id: str, closing: Stop, is_durable: bool = False) -> None:
        self._connection = connection
        self._queue = queue
        self._hub_id = hub_id
        self._closing = closing
        #: They are acknowledged when a replica has them, too.
        self._is_durable = is_durable
        self._deadlines = Deadlines()
        self._waiting: list[_Parcel] = []
        self._number = 0
        self._running: asyncio.Task[None] | None = None

    @property
    def used(self) -> bool:
        """True when something was sent, so that there is a number in Redis to clean up."""
        return self._number > 0

    async def enqueue(self, messages: Sequence[str], timeout_ms: float) -> dict[int, str]:
        """
        Enqueues jobs, all of them or none: at most 256, and about 1 MB. Returns when they are in Redis, with those, by place, that are not
        because another one of their uniqueness is there. Raises NotEnqueued, OutcomeUnknown, HubClosed.
        """
        parcel = _Parcel(messages, timeout_ms, self._expire)
        self._deadlines.add(parcel)
        self._waiting.append(parcel)
        if self._running is None:
            # Begins behind all that is enqueued in this turn of the loop: it goes together.
            self._running = start(self._run())
        try:
            return await parcel.outcome
        finally:
            self._deadlines.delete(parcel)

    def stop(self) -> None:
        """Nobody will hear of what is not answered by now."""
        self._close(self._waiting)
        self._deadlines.stop()

    async def _run(self) -> None:
        try:
            while self._waiting and not self._closing.is_set:
                await self._connection.when_ready(self._closing)
                await self._deliver(self._next_batch())
        finally:
            self._running = None
            if self._closing.is_set:
                self._close(self._waiting)

    def _next_batch(self) -> list[_Parcel]:
        batch: list[_Parcel] = []
        count = taken = 0
        weight = 0.0
        for parcel in self._waiting:
            is_full = count + len(parcel.messages) > MAX_COUNT or weight + parcel.weight > MAX_BATCH_BYTES
            if count > 0 and is_full:
                break
            taken += 1
            if not parcel.settled:
                count += len(parcel.messages)
                weight += parcel.weight
                batch.append(parcel)
        del self._waiting[:taken]
        return batch

    async def _deliver(self, parcels: list[_Parcel]) -> None:
        self._number += 1
        number = self._number

        def prepare(was_lost: bool) -> Callable[[], Awaitable[Any]] | None:
            if not was_lost:
                parcels[:] = [parcel for parcel in parcels if not parcel.settled]
            if all(parcel.settled for parcel in parcels):
                return None
            messages = [message for parcel in parcels for message in parcel.messages]
            for parcel in parcels:
                parcel.in_doubt = self._connection.is_ready or was_lost
            return lambda: self._send(number, messages)

        def on_setback(error: Exception, was_lost: bool) -> None:
            for parcel in parcels:
                parcel.in_doubt = was_lost
                parcel.setback = message_of(error)

        delivered = await deliver_numbered(self._connection, self._closing, prepare, on_setback)
        if delivered.how == "answered":
            enqueued, doubt = delivered.answer
            if doubt is None:
                self._accept(parcels, enqueued.twins)
            else:
                for parcel in parcels:
                    parcel.refuse("OutcomeUnknown", doubt)
        elif delivered.how == "over":
            self._close(parcels)
        for parcel in parcels:
            if delivered.how == "unknown":
                parcel.refuse("OutcomeUnknown", _DOUBT)
            elif delivered.error is not None:
                parcel.refuse("NotEnqueued", f"Redis refused the job: {explained(message_of(delivered.error))}.")

    async def _send(self, number: int, messages: Sequence[str]) -> tuple[Enqueued, str | None]:
        """What Redis did with them, and why it is not certain that they stay, if so."""
        enqueued = await self._queue.enqueue(self._connection, self._hub_id, number, messages)
        if not self._is_durable:
            return enqueued, None
        # Behind that answer: a function that was missing is called again behind all that was sent with it.
        try:
            replicas = await self._queue.replicas_of(self._connection, self._hub_id, _REPLICA_MS)
        except Exception as error:
            # They are in Redis, whatever became of the question.
            if isinstance(error, NotConnected) or is_passing(error):
                raise ConnectionLost(str(error)) from None
            if not isinstance(error, ReplyError):
                raise
            return enqueued, f"The job is in Redis, but Redis cannot tell whether a replica has it: {explained(message_of(error))}."
        return enqueued, None if replicas > 0 else _UNREPLICATED

    def _accept(self, parcels: Sequence[_Parcel], twins: dict[int, str]) -> None:
        first = 0
        for parcel in parcels:
            last = first + len(parcel.messages)
            own = {place - first: id for place, id in twins.items() if first <= place < last}
            if not parcel.settled:
                parcel.outcome.set_result(own)
            first = last

    def _close(self, parcels: Sequence[_Parcel]) -> None:
        for parcel in parcels:
            parcel.refuse("OutcomeUnknown" if parcel.in_doubt else "HubClosed")

    def _expire(self, parcel: _Parcel) -> None:
        if parcel.in_doubt:
            parcel.refuse("OutcomeUnknown", "Redis did not confirm the job in time; it may have been enqueued.")
            return
        reason = explained(parcel.setback or self._connection.down_reason or "it did not answer")
        parcel.refuse("NotEnqueued", f"Redis did not accept the job in time: {reason}.")
