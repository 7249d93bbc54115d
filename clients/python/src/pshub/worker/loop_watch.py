"""Notices a handler that blocks the event loop of its worker's coroutines, from the worker's own thread."""

from __future__ import annotations

import asyncio
import itertools
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..hub.loop import LoopThread
from ..wire.clock import now_s

_LOOK_S = 0.25
#: For so long a loop may stand still without a word.
_BLOCKED_S = 1.0
#: Then it is told while it lasts, with the stack.
_STUCK_S = 2.0
#: Files of what brings a handler to its turn.
_NOT_OWN = (threading.__file__, str(Path(asyncio.__file__).parent), str(Path(__file__).resolve().parents[1]))


class LoopWatch:
    """Asks the loop for a sign of life while anything runs there."""

    def __init__(self, thread: LoopThread, running: dict[asyncio.Task[Any], str], tell: Callable[..., None]) -> None:
        """``running``: names of tasks. ``tell`` is given ``loop:stuck`` while it is blocked, and ``loop:blocked`` when that is over."""
        self._thread = thread
        self._running = running
        self._tell = tell
        self._timer: asyncio.TimerHandle | None = None
        self._asked_at = 0.0
        #: When the last answer was given.
        self._turned_at = 0.0
        #: Who is to blame, once it is late.
        self._tasks: list[str] | None = None
        self._is_told = False
        self._is_stopped = False

    def wake(self) -> None:
        """Something was started."""
        if self._timer is None and not self._is_stopped:
            self._ask()

    def stop(self) -> None:
        """From any thread."""
        self._is_stopped = True

    def _ask(self) -> None:
        self._tasks, self._is_told = None, False
        self._asked_at = now_s()
        self._thread.post(self._answer)
        self._sleep()

    def _sleep(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_LOOK_S, self._look)

    def _answer(self) -> None:
        """On the loop's thread."""
        self._turned_at = now_s()

    def _look(self) -> None:
        self._timer = None
        if self._is_stopped:
            return
        late_s = self._turned_at - self._asked_at
        if late_s < 0:
            self._wait_on()
            return
        if late_s > _BLOCKED_S:
            self._tell("loop:blocked", tasks=self._tasks or [], ms=round(late_s * 1000))
        if self._running:
            self._ask()

    def _wait_on(self) -> None:
        if self._tasks is None:
            self._tasks = self._culprits()
        ms = round((now_s() - self._asked_at) * 1000)
        if ms > _STUCK_S * 1000 and not self._is_told:
            self._is_told = True
            self._tell("loop:stuck", tasks=self._tasks, ms=ms, stack=self._stack())
        self._sleep()

    def _culprits(self) -> list[str]:
        """The task whose handler does not let go; all that run where it is something that one of them has started."""
        task = asyncio.current_task(self._thread.loop)
        running = dict(self._running)
        return [running[task]] if task in running else sorted(set(running.values()))

    def _stack(self) -> str:
        """From the handler's own code on."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        frames = traceback.extract_stack(frame) if frame else []
        own = itertools.dropwhile(lambda each: each.filename.startswith(_NOT_OWN), frames)
        return "".join(traceback.format_list(list(own)))
