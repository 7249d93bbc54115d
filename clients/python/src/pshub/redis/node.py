"""One connection to one server that heals itself, on redis-py."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from redis.asyncio.connection import Connection as Link

from ..wire.clock import Stop, backoff_s, now_s, settle, sleep, start
from ..wire.raised import message_of
from .client import Command, Greeting, make_link, open_link
from .fence import Fence
from .link import Traffic, Wire
from .reach import Reach
from .refusals import ANSWERS, WRONG_SERVER, ConnectionLost, NotConnected, ReplyError, answer_of, code_of, with_blanks_noted
from .streams import abort, bury, let_go
from .target import Address

_STALL_CHECK_S = 0.25
_RECEIVING_S = 4 * _STALL_CHECK_S
#: A link of 1.6 Mbit/s is not silent, but slow: megabytes lie in the buffers of the system for seconds, where nobody sees them move. They have
#: that long before their connection is given up.
_SLOWEST_BYTES_PER_S = 200_000
#: A firewall or NAT may forget a flow that rests, and tells neither end.
_REST_S = 10.0
#: What rested is asked for a sign of life before it is trusted, and gets this long for it: the caller still has time for another connection.
_PROBE_STALL_S = 0.25


class NodeConnection:
    """
    Owns a chain of redis-py connections, one at a time, and lets none of them reconnect or send again: what was under way when
    one broke fails as ConnectionLost, because only the layers above know what may be repeated. One that stalls is dropped with
    its socket and never used again. Belongs to one event loop.
    """

    def __init__(
        self,
        reach: Reach,
        name: str,
        stall_s: float,
        on_up: Callable[[], None] = lambda: None,
        on_down: Callable[[str], None] = lambda reason: None,
        asks_id: bool = False,
        fence: Fence | None = None,
    ) -> None:
        self._reach = reach
        #: Of the connections that this one follows.
        self._fence = fence or Fence()
        self._asks_id = asks_id
        self._name = name
        self._stall_s = stall_s
        self._on_up = on_up
        self._on_down = on_down
        self._closing = Stop()
        self._wire: Wire | None = None
        self._link: Link | None = None
        self._broken: asyncio.Future[None] | None = None
        self._reason: Exception | None = None
        self._waiting: list[asyncio.Future[None]] = []
        self._watch: asyncio.TimerHandle | None = None
        self._checked_at = 0.0
        #: When the connection last showed a sign of life, and its traffic at the last look.
        self._alive_at = 0.0
        self._traffic = Traffic(0, 0, 0)
        #: What had been accepted for sending before something was last heard: what came after it may still be on its way up a slow link.
        self._accepted_before = 0
        self._life: asyncio.Task[None] | None = None
        #: Of what looks whether it is still the right server.
        self._let_go_of: Callable[[], None] = lambda: None
        #: Why there is no connection at the moment, once an attempt failed.
        self.down_reason: str | None = None

    def open(self) -> None:
        """Starts connecting; returns at once. Does nothing when already open."""
        if self._life is None:
            self._life = start(self._live())

    @property
    def is_ready(self) -> bool:
        return self._wire is not None

    @property
    def is_busy(self) -> bool:
        """Something is under way."""
        return self._wire is not None and bool(self._wire.flights)

    @property
    def is_receiving(self) -> bool:
        """An answer is under way, and a part of it came a moment ago."""
        return self.is_busy and now_s() - self._alive_at < _RECEIVING_S

    @property
    def address(self) -> Address:
        return self._reach.address

    @property
    def client_id(self) -> int | None:
        return self._wire.client_id if self._wire else None

    async def when_ready(self, stop: Stop | None = None) -> None:
        """Returns when there is a connection, or when ``stop`` is set or this is closed: look at ``is_ready``."""
        if self._wire or self._closing.is_set or (stop is not None and stop.is_set):
            return
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(ready)
        key = stop.add(lambda: settle(ready)) if stop else 0
        try:
            await ready
        finally:
            if stop:
                stop.remove(key)

    def post(self, *commands: Command) -> asyncio.Future[list[Any]]:
        """
        Sends commands in one write, together with all others of this turn of the loop and in their order. The future has one
        answer per command (an error answer is a ReplyError among them), or raises NotConnected or ConnectionLost.
        """
        future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        wire = self._wire
        if wire is None:
            future.set_exception(NotConnected(self.down_reason or "not connected to Redis yet"))
            return future
        if not wire.flights and now_s() - wire.used_at > _REST_S:
            self._probe(wire)
        if wire.unsent is None:
            wire.give(future, commands)
        else:
            wire.unsent.append((future, commands))
        if self._watch is None:
            self._start_watch()
        return future

    def _probe(self, wire: Wire) -> None:
        """What is posted meanwhile waits for the answer, in its order: if there is none, nothing of it is in doubt."""
        probe: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        wire.unsent = []
        # Every user may ask for the time. A refusal is a sign of life, too.
        wire.give(probe, (("TIME",),))
        probe.add_done_callback(lambda _: self._end_probe(wire))

    def _end_probe(self, wire: Wire) -> None:
        unsent, wire.unsent = wire.unsent or [], None
        for future, commands in unsent:
            if self._wire is wire:
                wire.give(future, commands)
            elif not future.done():
                future.set_exception(NotConnected(self.down_reason or "not connected to Redis yet"))
                # Not everybody who sends waits for the answer.
                future.exception()

    def discard(self, reason: Exception) -> None:
        """Drops the present link: all that is under way fails as ConnectionLost, and a new one is made."""
        self._reason = self._reason or reason
        wire, self._wire = self._wire, None
        self._abort()
        if self._broken is not None:
            settle(self._broken)
        if wire is not None:
            self._reject(wire, reason)

    async def close(self) -> None:
        """Closes for good."""
        if not self._closing.is_set:
            self._closing.set()
            self.discard(ConnectionLost("the connection was closed"))
            self._release()
        if self._life is not None:
            await asyncio.wait({self._life})

    def detach(self) -> None:
        """In a forked child: lets go of the parent's socket without a word to the server."""
        let_go(self._link)

    async def _live(self) -> None:
        attempt = 0
        while not self._closing.is_set:
            self._reason = None
            was_ready = await self._life_of_one_link()
            if self._closing.is_set:
                break
            attempt = 0 if was_ready else attempt + 1
            reason = message_of(self._reason) if self._reason else "Redis closed the connection"
            # An outage that turns into a refusal, of a password that was changed for one, is told once more.
            is_news = isinstance(self._reason, ReplyError) and reason != self.down_reason
            if self.down_reason is None or is_news:
                self._on_down(reason)
            self.down_reason = reason
            await sleep(backoff_s(attempt), self._closing)
        if self._watch:
            self._watch.cancel()

    async def _life_of_one_link(self) -> bool:
        """Makes a link and serves it until it is gone; ``_reason`` says why then. True when it was ready."""
        loop = asyncio.get_running_loop()
        self._broken = loop.create_future()
        broken = self._broken
        opening = start(self._open())
        tasks: set[asyncio.Future[Any]] = {opening}
        ends: set[asyncio.Future[Any]] = {opening, broken}
        open_s = self._reach.open_s
        try:
            await asyncio.wait(ends, timeout=open_s, return_when=asyncio.FIRST_COMPLETED)
            if not opening.done():
                self._reason = self._reason or ConnectionLost(f"no answer within {open_s:g} s")
                return False
            if opening.exception() is not None:
                self._reason = self._reason or self._as_refusal(opening.exception())
                return False
            if broken.done() or self._closing.is_set:
                return False
            assert self._link is not None
            wire = self._wire = Wire(self._link)
            # It counts from the start: what its predecessor had sent must not make its patience shorter.
            self._traffic, self._accepted_before = Traffic(0, 0, 0), 0
            wire.client_id = opening.result().client_id
            self.down_reason = None
            self._on_up()
            self._release()
            tasks = {start(self._write(wire)), start(self._read(wire))}
            ends = {*tasks, broken}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done() and task.exception() is not None:
                    self._reason = self._reason or _as_reason(task.exception())
            self.discard(self._reason or ConnectionLost("Redis closed the connection"))
            return True
        finally:
            # Nothing can be awaited any more where its loop was closed without winding up.
            if not loop.is_closed():
                await self._end_of_link(tasks)

    async def _end_of_link(self, tasks: set[asyncio.Future[Any]]) -> None:
        self._let_go_of()
        self._abort()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._let_go_of()
        bury(self._link)
        self._link = None

    def _as_refusal(self, error: BaseException | None) -> Exception:
        reason = _as_reason(error)
        if not isinstance(reason, ReplyError) or self._link is None:
            return reason
        return ReplyError(with_blanks_noted(str(reason), self._link.username, self._link.password))

    def _abort(self) -> None:
        if self._link is not None:
            abort(self._link)

    async def _open(self) -> Greeting:
        options = await self._reach.options()
        # From here on: a server that is silent while it is greeted may not be the right one any more.
        self._let_go_of = self._reach.hold(self.discard)
        link = self._link = make_link(options)
        greeting = await open_link(link, self._name, self._asks_id, self._reach.section, self._fence)
        self._reach.check(greeting.info)
        return greeting

    async def _write(self, wire: Wire) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if not wire.out:
                wire.wake = loop.create_future()
                await wire.wake
            out, wire.out = wire.out, []
            # redis-py would connect anew by itself, and nobody would know what became of what was under way.
            if not wire.link.is_connected or self._wire is not wire:
                raise ConnectionLost("Redis closed the connection")
            data = b"".join(out)
            wire.sent += len(data)
            await wire.link.send_packed_command([data], check_health=False)

    async def _read(self, wire: Wire) -> None:
        read = wire.link.read_response
        while True:
            answer: Any
            try:
                answer = await read(disable_decoding=True, disconnect_on_error=False)
            except ANSWERS as error:
                answer = answer_of(error)
            wire.heard += 1
            if not wire.flights:
                raise ConnectionLost("Redis sent an unexpected reply")
            flight = wire.flights[0]
            flight.replies.append(answer)
            flight.missing -= 1
            if flight.missing == 0:
                wire.flights.popleft()
                settle(flight.future, flight.replies)
            if isinstance(answer, ReplyError) and code_of(answer) in WRONG_SERVER and self._wire is wire:
                self.discard(answer)

    def _start_watch(self) -> None:
        if self._wire is not None:
            self._traffic = self._wire.traffic
            self._accepted_before = self._traffic.accepted
        self._look_later()

    def _look_later(self) -> None:
        self._checked_at = now_s()
        self._watch = asyncio.get_running_loop().call_later(_STALL_CHECK_S, self._check_stall)

    def _check_stall(self) -> None:
        """Gives up a connection on which nothing moves. A long answer or a long request on a slow link moves."""
        wire = self._wire
        self._watch = None
        if wire is None or not wire.flights:
            return
        now = now_s()
        late_s = now - self._checked_at - _STALL_CHECK_S
        before, traffic = self._traffic, wire.traffic
        self._traffic = traffic
        # When this loop got no turn, and not Redis, the answers of that time are here and only still to be read.
        is_heard = traffic.heard != before.heard or late_s > _STALL_CHECK_S
        if is_heard:
            self._accepted_before = before.accepted
        # Only where the system's own buffer is full: it accepts small writes on a dead connection, too.
        if is_heard or (before.queued > 0 and traffic.accepted > before.accepted):
            self._alive_at = now
        silent_s = now - max(wire.flights[0].sent_at, self._alive_at)
        upload_s = (traffic.accepted - self._accepted_before) / _SLOWEST_BYTES_PER_S
        stall_s = self._stall_s if wire.unsent is None else _PROBE_STALL_S
        if silent_s > stall_s + upload_s:
            self.discard(ConnectionLost(f"Redis did not answer for {silent_s * 1000:.0f} ms"))
        else:
            self._look_later()

    def _reject(self, wire: Wire, reason: Exception) -> None:
        flights, wire.flights = wire.flights, deque()
        for flight in flights:
            if not flight.future.done():
                flight.future.set_exception(ConnectionLost(message_of(reason)))
                # Not everybody who sends waits for the answer.
                flight.future.exception()

    def _release(self) -> None:
        waiting, self._waiting = self._waiting, []
        for ready in waiting:
            settle(ready)


def _as_reason(error: BaseException | None) -> Exception:
    if isinstance(error, ANSWERS):
        return answer_of(error)
    return ConnectionLost(message_of(error) if error else "Redis closed the connection")
