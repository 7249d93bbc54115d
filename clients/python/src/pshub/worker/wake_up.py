"""One moment at which something is to be done, unless another one is set before."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from ..wire.clock import now_s


class WakeUp:
    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._timer: asyncio.TimerHandle | None = None
        self._at = math.inf

    def set(self, at: float) -> None:
        """``at``: monotonic seconds; infinity for never."""
        if at == self._at:
            return
        self.cancel()
        if at != math.inf:
            self._at = at
            self._timer = asyncio.get_running_loop().call_later(max(0.001, at - now_s()), self._wake)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._at = None, math.inf

    def _wake(self) -> None:
        self.cancel()
        self._act()
