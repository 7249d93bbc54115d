"""Event loops whose timers go by the clock of tests."""

from __future__ import annotations

import asyncio
import itertools
import math
import threading
import weakref
from typing import Any

from ..wire.clock import now_s, use_loops

#: A loop that gives no turn for so long is blocked by a handler, and not waited for.
_TURN_S = 0.2


class TravelLoop(asyncio.SelectorEventLoop):
    """Knows when its next timer is due."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count()
        #: Timers that have not fired.
        self._waiting: weakref.WeakValueDictionary[int, asyncio.TimerHandle] = weakref.WeakValueDictionary()
        #: As of its last turn, by ``now_s``.
        self.next_at = math.inf

    def time(self) -> float:
        return now_s()

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:  # type: ignore[override]
        number = next(self._numbers)

        def fire() -> None:
            self._waiting.pop(number, None)
            callback(*args)

        handle = super().call_at(when, fire, context=context)
        self._waiting[number] = handle
        return handle

    def look(self) -> None:
        """On its own thread."""
        self.next_at = min((timer.when() for timer in self._waiting.values() if not timer.cancelled()), default=math.inf)


class Loops:
    """Those of all hubs and workers that are made from now on."""

    def __init__(self) -> None:
        self._loops: list[TravelLoop] = []

    def begin(self) -> None:
        use_loops(self._make)

    def end(self) -> None:
        use_loops()
        self._loops.clear()

    @property
    def next_at(self) -> float:
        """When the next timer of any is due, as of the last turn."""
        return min((loop.next_at for loop in [*self._loops]), default=math.inf)

    def turn(self) -> None:
        """Returns when each has had a turn, and one more, for what that brought."""
        turns = [turn for loop in [*self._loops] if (turn := self._turn_of(loop)) is not None]
        for turned in turns:
            turned.wait(_TURN_S)

    def _make(self) -> asyncio.AbstractEventLoop:
        loop = TravelLoop()
        self._loops.append(loop)
        return loop

    def _turn_of(self, loop: TravelLoop) -> threading.Event | None:
        turned = threading.Event()

        def look() -> None:
            loop.look()
            turned.set()

        try:
            loop.call_soon_threadsafe(loop.call_soon, look)
        except RuntimeError:
            # It has ended.
            self._loops.remove(loop)
            return None
        return turned
