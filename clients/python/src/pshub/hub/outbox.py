"""Requests of one hub for one queue, on their way into its list."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict

from ..figures.events import Events
from ..queue.queue import PUSH_MEMORY_MS, Queue
from ..redis.connection import Connection
from ..redis.refusals import ConnectionLost, NotConnected, explained, is_passing
from ..wire.answers import Pushed
from ..wire.clock import Stop, backoff_s, ignore, now_s, sleep, spawn, start
from ..wire.message import stamped, unstamped
from ..wire.raised import message_of
from ..wire.redis_clock import RedisClock
from .call import Call, InList
from .forecast import Forecast

_MAX_BATCH = 256
_MAX_BATCH_CHARS = 1_000_000
#: Taken off each ttl: a push that is on its way for longer has its time taken off in Redis.
_WAY_MS = 2
#: Without an answer for this long nothing counts as being sent.
_SENDING_S = 0.5


class Outbox:
    """
    One push is under way at a time and what is called meanwhile goes with the next, so batches grow with the load by themselves,
    and only the last push can ever be in doubt: when its answer is lost it is repeated under the same number, before anything
    new, and Redis knows whether it had arrived.
    """

    def __init__(
        self,
        connection: Connection,
        queue: Queue,
        hub_id: str,
        clock: RedisClock,
        events: Events,
        closing: Stop,
    ) -> None:
        self.forecast = Forecast()
        #: Longest list that is pushed to, whatever a call could wait for.
        self.max_length: float = 0
        #: Calls whose answers are awaited, or that wait here to be sent.
        self.in_flight = 0
        self._connection = connection
        self._queue = queue
        self._hub_id = hub_id
        self._clock = clock
        self._events = events
        self._closing = closing
        #: Only calls that are not over, in their order: an outage may last, and they do not wait for its end.
        self._waiting: OrderedDict[Call, None] = OrderedDict()
        self._number = 0
        self._answered_at = -math.inf
        self._running: asyncio.Task[None] | None = None
        self._cancelling: set[asyncio.Task[None]] = set()

    @property
    def used(self) -> bool:
        """True when there is a push number in Redis to clean up."""
        return self._number > 0

    @property
    def is_sending(self) -> bool:
        """True while pushes are answered, so that what waits here has its turn soon."""
        return now_s() - self._answered_at < _SENDING_S

    def add(self, call: Call) -> None:
        # A retry may be over before its time to be sent has come.
        if call.settled:
            return
        self._waiting[call] = None
        if self._running is None:
            # Begins behind all that is called in this turn of the loop: it goes together.
            self._running = start(self._run())

    def drop(self, call: Call) -> None:
        """Lets go of a call that is over. When its caller gave up, its request is cancelled too."""
        self._waiting.pop(call, None)
        if call.abandoned:
            self._cancel(call)

    def _cancel(self, call: Call) -> None:
        """
        Takes a request out of the list, or has its worker told. Does nothing for one whose push is under way; that is cancelled
        once it is known to have arrived.
        """
        if call.pushed is None:
            return
        at, ttl_ms, _ = call.pushed
        text = stamped(at, ttl_ms, call.body) if ttl_ms > 0 else ""

        async def send() -> None:
            removed = await self._queue.cancel(self._connection, call.id, text)
            self._events.emit("call:cancelled", task=call.task, id=call.id, removed=removed)

        # If it fails, the request runs or expires by itself; nobody waits for it.
        ignore(spawn(send(), self._cancelling))

    def under_way(self) -> set[asyncio.Task[None]]:
        """What is being sent, of a hub that is closed."""
        return self._cancelling if self._running is None else {self._running, *self._cancelling}

    async def _run(self) -> None:
        try:
            while self._waiting and not self._closing.is_set:
                await self._connection.when_ready(self._closing)
                batch = self._next_batch()
                if batch:
                    await self._deliver(batch)
        finally:
            self._running = None

    def _next_batch(self) -> list[Call]:
        """What goes with the next push. Calls that a list as long as it was a moment ago cannot serve in time are refused."""
        batch: list[Call] = []
        length = self.forecast.length()
        chars = 0
        while self._waiting and len(batch) < _MAX_BATCH:
            call = next(iter(self._waiting))
            if chars > 0 and chars + len(call.body) > _MAX_BATCH_CHARS:
                break
            del self._waiting[call]
            if length is not None and length + len(batch) >= self.forecast.length_within(_left_ms(call)):
                self._overloaded(length + len(batch), call)
                continue
            chars += len(call.body)
            batch.append(call)
        return batch

    async def _deliver(self, calls: list[Call]) -> None:
        """Pushes a batch under one number until its outcome is known or nobody waits for it any more."""
        self._number += 1
        number = self._number
        first_try = now_s()
        lost = False
        attempt = 0
        while True:
            # Once a try is in doubt, all further ones are the same list: the answer counts how many of it were taken.
            if not lost:
                calls = [call for call in calls if not call.settled]
            if all(call.settled for call in calls) or self._closing.is_set:
                return
            now = now_s()
            if lost and now - first_try > PUSH_MEMORY_MS / 2000:
                return self._give_up(calls)
            ttls = [max(1, int((call.end - now) * 1000) - _WAY_MS) for call in calls]
            try:
                pushed = await self._send(number, calls, ttls, now)
                # Of a repeat the ttls are those of the try that arrived, so its messages are not known exactly.
                return self._answered(calls, None if pushed.repeated else ttls, pushed)
            except Exception as error:
                lost = lost or isinstance(error, ConnectionLost)
                for call in calls:
                    call.in_doubt = lost
                    call.setback = message_of(error)
                if not (isinstance(error, (NotConnected, ConnectionLost)) or is_passing(error)):
                    return self._give_up(calls) if lost else self._refuse(calls, error)
            await sleep(backoff_s(attempt, 0.01, 0.5), self._closing)
            attempt += 1
            await self._connection.when_ready(self._closing)

    async def _send(self, number: int, calls: list[Call], ttls: list[int], counted_at: float) -> Pushed:
        messages = [unstamped(ttl, call.body) for ttl, call in zip(ttls, calls)]
        if self._connection.is_ready:
            for call in calls:
                call.in_doubt = True
        counted_at_us = self._clock.at_us(counted_at)
        max_length = self._max_length_for(calls)
        return await self._queue.push(self._connection, self._hub_id, number, max_length, messages, counted_at_us)

    def _max_length_for(self, calls: list[Call]) -> int:
        """The longest list in which the most patient of these would be served in time."""
        longest = max(_left_ms(call) for call in calls)
        return int(min(self.max_length, self.forecast.length_within(longest)))

    def _answered(self, batch: list[Call], ttls: list[int] | None, pushed: Pushed) -> None:
        self._answered_at = now_s()
        # A repeat tells the length of now and the time of its first try.
        if not pushed.repeated:
            self.forecast.see(pushed.length, pushed.accepted, max(_left_ms(call) for call in batch))
            self._clock.learn(int(pushed.at), now_s())
        for index, call in enumerate(batch):
            if index >= pushed.accepted:
                self._overloaded(pushed.length, call)
                continue
            ttl_ms = max(1, ttls[index] - pushed.late_ms) if ttls else 0
            call.enqueued(InList(pushed.at, ttl_ms, None if pushed.repeated else pushed.length + index))
            if call.abandoned:
                self._cancel(call)
        if self._events.has("queue:pushed"):
            self._events.emit(
                "queue:pushed",
                queue=self._queue.name,
                count=pushed.accepted,
                rejected=len(batch) - pushed.accepted,
                length=pushed.length,
                repeated=pushed.repeated,
            )

    def _overloaded(self, about: float, call: Call) -> None:
        name, length, max_length = self._queue.name, round(about), self._max_length_for([call])
        wait_ms = round(self.forecast.wait_ms(length))
        patience_ms = round(self.forecast.patience_ms(_left_ms(call)))
        if length >= self.max_length:
            reason = f"{length} requests wait in queue {name}, and its limit is {max_length}."
        elif wait_ms > patience_ms:
            reason = f"About {wait_ms} ms of work waits in queue {name}, and this call can wait only {patience_ms} ms."
        else:
            reason = f"Calls to queue {name} arrive faster than its workers serve them: {length} requests wait, and the limit is now {max_length}."
        data = {"length": length, "maxLength": min(max_length, 2**53), "waitMs": wait_ms}
        call.refused("Overloaded", f"{reason} Add workers or slots, or retry later.", data)

    def _refuse(self, calls: list[Call], error: Exception) -> None:
        """Redis answered with an error, so nothing was enqueued: a push refuses before it writes."""
        for call in calls:
            call.in_doubt = False
            call.refused("NotEnqueued", f"Redis refused the request: {explained(message_of(error))}.")

    def _give_up(self, calls: list[Call]) -> None:
        """The number may be forgotten soon; repeating the push after that could run it twice."""
        for call in calls:
            call.refused("OutcomeUnknown", "The connection broke while the request was sent, and Redis can no longer tell whether it arrived.")


def _left_ms(call: Call) -> float:
    return max(0.0, call.end - now_s()) * 1000
