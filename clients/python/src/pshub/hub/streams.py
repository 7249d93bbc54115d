"""Streams: what a handler yields, as it comes. PROTOCOL.md, section 9.10."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from ..figures.events import Events
from ..redis.connection import Connection
from ..redis.refusals import is_refusal
from ..wire.clock import Stop, call_later, now_s, sleep, spawn
from ..wire.errors import HubError, OutcomeUnknown, Timeout
from ..wire.keys import Keys
from ..wire.raised import message_of
from ..wire.streams import STREAM_WINDOW, TAKEN_AGAIN_S, TAKEN_MS, Asked, OnProgress
from .call import Outgoing
from .progress import tell

#: After a failure what was taken is said again after this.
_AGAIN_S = 0.1


class StreamHost(Protocol):
    id: str
    keys: Keys
    events: Events
    commands: Connection
    closing: Stop

    def cancel(self, out: Outgoing) -> None: ...


class StreamState:
    """What came of one stream. It hears on the hub's own thread, and is read on another one, or the same."""

    def __init__(self, called: str, on_progress: OnProgress | None, changed: Callable[[], None]) -> None:
        self.called = called
        self.asked = Asked(STREAM_WINDOW, on_progress is not None)
        self.on_progress = on_progress
        #: Called on the hub's thread when something came.
        self._changed = changed
        self.chunks: deque[Any] = deque()
        self.came = 0
        #: How many its reader has taken, and how many its worker was told of.
        self.taken = self.said = 0
        self.heard_at = now_s()
        self.has_ended = False
        self.result: Any = None
        self.error: HubError | None = None
        self.out: Outgoing | None = None

    @property
    def id(self) -> str | None:
        """Of its request, each try of which has one of its own; None while its task is looked up."""
        call = self.out.call if self.out is not None else None
        return None if call is None else call.id

    def chunk(self, number: int, value: Any) -> bool:
        """False when one is missing before it."""
        # A push whose answer was lost was repeated.
        if number <= self.came:
            return True
        if number != self.came + 1:
            return False
        self.came = number
        self.heard_at = now_s()
        self.chunks.append(value)
        self._changed()
        return True

    def heard(self) -> None:
        self.heard_at = now_s()
        self._changed()

    def end(self, result: Any, error: HubError | None) -> None:
        if self.has_ended:
            return
        self.result, self.error = result, error
        self.has_ended = True
        self._changed()

    def gap(self) -> HubError:
        message = f"Chunk {self.came + 1} of {self.called} was lost: Redis no longer has it. All chunks before it arrived."
        return OutcomeUnknown(message, task=self.called, id=self.id)

    def idleness(self, idle_s: float) -> HubError:
        message = f"{self.called} sent no chunk for {idle_s * 1000:.0f} ms after {self.came} chunks."
        return Timeout(message, task=self.called, id=self.id)


class OpenStreams:
    """
    The streams that a hub reads, on its own thread: tells their workers how much of each was taken, when that is much, and from time to
    time, so that a worker sees that somebody is still there. What is said holds for all before it, so a word that is lost costs time alone.
    """

    def __init__(self, host: StreamHost) -> None:
        self._host = host
        self._open: set[StreamState] = set()
        self._to_say: set[StreamState] = set()
        self._said: set[StreamState] = set()
        self._to_forget: list[str] = []
        self._under_way: set[asyncio.Task[Any]] = set()
        self._is_saying = False
        self._beating: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._open)

    def open(self, state: StreamState, out: Outgoing) -> None:
        state.out = out
        self._open.add(state)
        if self._beating is None:
            self._beating = call_later(TAKEN_AGAIN_S, self._say_all)

    def hear(self, state: StreamState, part: dict[str, Any]) -> None:
        """Something came before the reply."""
        if state.has_ended:
            return
        if "progress" in part:
            state.heard()
            tell(state.out, state.on_progress, part, self._host.events)
        elif not state.chunk(part["chunk"], part["value"]):
            self.give_up(state, state.gap())

    def settled(self, state: StreamState, value: Any, error: HubError | None) -> None:
        """Its reply came, or it ended without one."""
        chunks = state.out.chunks if state.out is not None else None
        if error is None and chunks is not None and chunks != state.came:
            error = state.gap()
        self._end(state, value, error)

    def give_up(self, state: StreamState, error: HubError) -> None:
        """Nobody wants more of it: its handler is told to stop."""
        self._end(state, None, error)
        if state.out is not None:
            self._host.cancel(state.out)

    def say(self, state: StreamState) -> None:
        if state in self._open and state.id is not None:
            self._to_say.add(state)
            self._begin()

    async def stop(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
        if self._under_way:
            await asyncio.wait(set(self._under_way), timeout=1.0)

    def _end(self, state: StreamState, value: Any, error: HubError | None) -> None:
        state.end(value, error)
        self._open.discard(state)
        self._to_say.discard(state)
        if not self._open and self._beating is not None:
            self._beating.cancel()
            self._beating = None
        if state in self._said:
            self._said.discard(state)
            self._to_forget.append(self._host.keys.taken(self._host.id, state.id or ""))
            self._begin()

    def _say_all(self) -> None:
        self._beating = call_later(TAKEN_AGAIN_S, self._say_all)
        for state in list(self._open):
            self.say(state)

    def _begin(self) -> None:
        if not self._is_saying:
            self._is_saying = True
            spawn(self._say(), self._under_way)

    async def _say(self) -> None:
        host = self._host
        while self._to_say or self._to_forget:
            states, self._to_say = self._to_say, set()
            keys, self._to_forget = self._to_forget, []
            self._said |= states
            words: list[Any] = [("SET", host.keys.taken(host.id, each.id or ""), each.taken, "PX", TAKEN_MS) for each in states]
            words += [("UNLINK", key) for key in keys]
            try:
                for answer in await host.commands.post(*words):
                    if isinstance(answer, Exception):
                        raise answer
            except Exception as error:
                if host.closing.is_set:
                    break
                if is_refusal(error):
                    host.events.emit("problem", where="stream", reason=message_of(error))
                else:
                    self._to_forget += keys
                self._to_say |= states & self._open
                await sleep(_AGAIN_S, host.closing)
                await host.commands.when_ready(host.closing)
        self._is_saying = False
