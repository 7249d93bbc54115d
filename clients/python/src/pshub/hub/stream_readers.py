"""What ``hub.stream`` returns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Generic, TypeVar

from ..wire.clock import now_s, settle
from ..wire.errors import Aborted, HubError, InvalidArgs
from ..wire.streams import STREAM_WINDOW, OnProgress
from .streams import OpenStreams, StreamState

#: What a chunk is.
C_co = TypeVar("C_co", covariant=True)
#: A thread that waits looks by itself this often.
_WAKE_S = 1.0


def wrong_idle(called: Any, idle: Any) -> HubError | None:
    """Why a stream cannot be asked for, beside what is wrong with its call."""
    if idle is not None and (isinstance(idle, bool) or not isinstance(idle, (int, float)) or not idle > 0):
        return InvalidArgs(f"stream {called}: idle must be a number of seconds above 0, not {idle!r:.80}.", task=called)
    return None


class _Reader:
    def __init__(self, called: str, idle: float | None, on_progress: OnProgress | None, changed: Callable[[], None]) -> None:
        self._state = StreamState(called, on_progress, changed)
        self._idle = idle
        #: Tells the hub's own thread something of this stream; None of one that was refused.
        self._post: Callable[..., None] | None = None
        self._streams: OpenStreams | None = None

    @property
    def id(self) -> str | None:
        """The request's id; None while its task is looked up."""
        return self._state.id

    @property
    def result(self) -> Any:
        """What the handler returned, at the end; None before, and where it returned nothing."""
        return self._state.result

    def _tell(self, what: str, *arguments: Any) -> None:
        if self._post is not None and self._streams is not None:
            self._post(getattr(self._streams, what), self._state, *arguments)

    def _take(self) -> Any:
        state = self._state
        value = state.chunks.popleft()
        state.taken += 1
        if not state.has_ended and state.taken - state.said >= STREAM_WINDOW // 2:
            state.said = state.taken
            self._tell("say")
        return value

    def _until(self, began_at: float) -> float | None:
        """When a read that waits since then is over."""
        return None if self._idle is None else max(began_at, self._state.heard_at) + self._idle

    def _leave(self, error: HubError) -> None:
        if not self._state.has_ended:
            self._tell("give_up", error)

    def _left(self) -> HubError:
        return Aborted(f"The caller stopped reading {self._state.called}.", task=self._state.called, id=self._state.id)


class HubStream(_Reader, Generic[C_co]):
    """
    The chunks of a call, in order, each once: ``for chunk in hub.stream(...)``. Leaving the loop cancels the call; a failed call raises
    its HubError after the chunks that arrived before it.

    :ivar id: the request id; None while the task is looked up
    :ivar result: the return value of the handler, at the end
    """

    def __init__(self, called: str, idle: float | None, on_progress: OnProgress | None) -> None:
        self._woken = threading.Event()
        super().__init__(called, idle, on_progress, self._woken.set)

    def __iter__(self) -> Iterator[C_co]:
        try:
            while True:
                if not self._wait():
                    return
                yield self._take()
        finally:
            self.close()

    def close(self) -> None:
        """Cancels the stream: its handler is notified."""
        self._leave(self._left())

    def __enter__(self) -> HubStream[C_co]:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _wait(self) -> bool:
        """Whether there is a chunk; False at the end."""
        state, began_at = self._state, now_s()
        while not state.chunks:
            # Read in this order: what came before the end is there when that is seen.
            if state.has_ended:
                if state.chunks:
                    break
                if state.error is not None:
                    raise state.error
                return False
            until = self._until(began_at)
            if until is not None and now_s() >= until:
                error = state.idleness(self._idle or 0.0)
                self._leave(error)
                raise error
            self._woken.wait(_WAKE_S if until is None else min(_WAKE_S, max(0.0, until - now_s())))
            self._woken.clear()
        return True


class AsyncHubStream(_Reader, Generic[C_co]):
    """The stream for asyncio: ``async for chunk in hub.stream(...)``."""

    def __init__(self, called: str, idle: float | None, on_progress: OnProgress | None) -> None:
        self._waiting: asyncio.Future[None] | None = None
        super().__init__(called, idle, on_progress, self._wake)

    async def __aiter__(self) -> AsyncIterator[C_co]:
        try:
            while await self._wait():
                yield self._take()
        finally:
            self.close()

    def close(self) -> None:
        """Cancels the stream: its handler is notified."""
        self._leave(self._left())

    async def __aenter__(self) -> AsyncHubStream[C_co]:
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.close()

    def _wake(self) -> None:
        if self._waiting is not None:
            settle(self._waiting)

    async def _wait(self) -> bool:
        state, began_at = self._state, now_s()
        loop = asyncio.get_running_loop()
        while not state.chunks:
            if state.has_ended:
                if state.error is not None:
                    raise state.error
                return False
            until = self._until(began_at)
            if until is not None and now_s() >= until:
                error = state.idleness(self._idle or 0.0)
                self._leave(error)
                raise error
            self._waiting = loop.create_future()
            timer = None if until is None else loop.call_later(max(0.0, until - now_s()), settle, self._waiting)
            try:
                await self._waiting
            finally:
                self._waiting = None
                if timer is not None:
                    timer.cancel()
        return True
