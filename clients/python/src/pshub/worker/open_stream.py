"""What a run yields, on its way to the list of its caller. PROTOCOL.md, section 9.10."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from ..wire.clock import ignore, now_s, settle, spawn
from ..wire.streams import TAKEN_MS, chunk_text
from .context import Context

#: Bytes of chunks that may lie untaken, but for a single one that is larger.
_MAX_UNTAKEN = 1_000_000
#: So many are pushed in one write at the most.
_MAX_TOGETHER = 128
#: How often a caller that has taken too little is asked: at first, and in the end.
_FIRST_LOOK_S = 0.001
_LONGEST_LOOK_S = 0.1
#: Without a word of what is taken, its caller is asked for after this long, as long as the stream lives.
_LOOK_S = 2.0
#: A thread that waits looks by itself this often.
_WAKE_S = 0.5


class OpenStream:
    """
    Numbered from 1, one push at a time, so that they are there in their order. No more is taken from the handler than the caller has room
    for. The handler's thread puts and waits; all else is done on the worker's own thread.
    """

    def __init__(
        self,
        id: str,
        window: int,
        context: Context,
        post: Callable[..., None],
        push: Callable[[list[bytes]], Awaitable[bool]],
        taken: Callable[[], Awaitable[int | None]],
        on_gone: Callable[[], None],
    ) -> None:
        self._id = id
        self._window = window
        self._context = context
        self._post = post
        self._push_texts = push
        self._ask_taken = taken
        #: Nobody reads it any more.
        self._on_gone = on_gone
        self.count: int | None = 0
        #: Of the handler: all that was put, in bytes.
        self._put_bytes = 0
        self._sizes: deque[int] = deque()
        #: Of the worker's thread.
        self._texts: list[bytes] = []
        self._pushed = 0
        self._taken = self._taken_bytes = 0
        self._is_broken = False
        self._is_pushing = self._is_looking = False
        self._looked_at = self._silent_since = now_s()
        self._under_way: set[asyncio.Task[Any]] = set()
        self._wakers: set[Callable[[], None]] = set()
        context._bind(self)

    # On the handler's thread.

    def put(self, text: str) -> None:
        count = (self.count or 0) + 1
        raw = chunk_text(self._id, count, text).encode()
        self._sizes.append(len(raw))
        self._put_bytes += len(raw)
        self.count = count
        self._post(self._add, raw)

    def wait(self) -> None:
        if not self._has_room():
            self._post(self._look_for_room)
            self._wait(self._has_room)

    async def await_room(self) -> None:
        if not self._has_room():
            self._post(self._look_for_room)
            await self._await(self._has_room)

    def end(self) -> None:
        self._wait(self._is_pushed)
        self._context._unbind(self)

    async def await_end(self) -> None:
        await self._await(self._is_pushed)
        self._context._unbind(self)

    def result(self, returned: Any) -> Any:
        return returned

    def _has_room(self) -> bool:
        untaken = (self.count or 0) - self._taken
        return untaken <= 0 or (untaken < self._window and self._put_bytes - self._taken_bytes < _MAX_UNTAKEN)

    def _is_pushed(self) -> bool:
        return self._is_broken or self._pushed >= (self.count or 0)

    def _wait(self, is_so: Callable[[], bool]) -> None:
        woken = threading.Event()
        self._wakers.add(woken.set)
        while not is_so() and self._context.reason is None:
            woken.wait(_WAKE_S)
            woken.clear()
        self._wakers.discard(woken.set)

    async def _await(self, is_so: Callable[[], bool]) -> None:
        loop = asyncio.get_running_loop()
        while not is_so() and self._context.reason is None:
            future: asyncio.Future[None] = loop.create_future()

            def wake(future: asyncio.Future[None] = future) -> None:
                loop.call_soon_threadsafe(settle, future)

            self._wakers.add(wake)
            try:
                if not is_so():
                    await asyncio.wait_for(asyncio.shield(future), _WAKE_S)
            except asyncio.TimeoutError:
                pass
            finally:
                self._wakers.discard(wake)

    def cancel(self) -> None:
        """The run is to stop: nobody waits any more."""
        for wake in list(self._wakers):
            wake()

    # On the worker's own thread.

    def look(self) -> None:
        """Called from time to time: a caller that is gone takes nothing, and tells nobody."""
        if now_s() - self._looked_at >= _LOOK_S:
            spawn(self._look(), self._under_way)

    def _add(self, text: bytes) -> None:
        self._texts.append(text)
        if not self._is_pushing:
            self._is_pushing = True
            spawn(self._push(), self._under_way)

    async def _push(self) -> None:
        while self._texts and not self._is_broken:
            texts: list[bytes] = []
            size = 0
            while self._texts and len(texts) < _MAX_TOGETHER and (not texts or size < _MAX_UNTAKEN):
                size += len(self._texts[0])
                texts.append(self._texts.pop(0))
            # Asked for along with the push, where it will be wanted soon.
            if (self.count or 0) - self._taken >= self._window / 2:
                spawn(self._look(), self._under_way)
            self._is_broken = not await self._push_texts(texts)
            self._pushed += len(texts)
        self._is_pushing = False
        self.cancel()

    def _look_for_room(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            ignore(spawn(self._until_room(), self._under_way))

    async def _until_room(self) -> None:
        wait_s = _FIRST_LOOK_S
        while not self._has_room() and self._context.reason is None and not self._is_broken:
            await self._look()
            if not self._has_room():
                await asyncio.sleep(wait_s)
                wait_s = min(_LONGEST_LOOK_S, wait_s * 2)
        self._is_looking = False
        self.cancel()

    async def _look(self) -> None:
        self._looked_at = now_s()
        try:
            taken = await self._ask_taken()
        except Exception:
            # What Redis has forgotten while it was away is said again soon.
            self._silent_since = now_s()
            return
        now = now_s()
        if taken is None:
            if (now - self._silent_since) * 1000 >= TAKEN_MS:
                self._on_gone()
            return
        self._silent_since = now
        while self._taken < min(taken, self.count or 0):
            self._taken_bytes += self._sizes.popleft()
            self._taken += 1
