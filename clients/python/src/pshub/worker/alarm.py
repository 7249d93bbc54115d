"""Does something when its time comes."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ..redis.refusals import ReplyError
from ..wire.clock import now_s
from ..wire.redis_clock import RedisClock

#: What comes later than this the beats tell of in time.
_HORIZON_S = 2.0


class Next(NamedTuple):
    """When to do it next."""

    #: Redis milliseconds; None where nobody knows of any.
    at_ms: int | None
    #: Not sooner than this from now on.
    least_s: float = 0.0
    #: There is more to do at once.
    is_more: bool = False


class Alarm:
    """
    Never twice at once. The beats of whoever has the turn tell of that time, the bell of what is due that there may be an earlier one,
    and each doing of the one after it.
    """

    def __init__(self, clock: RedisClock, act: Callable[[], Awaitable[Next]], on_problem: Callable[[Exception], None]) -> None:
        self._clock = clock
        self._act = act
        self._on_problem = on_problem
        self._timer: asyncio.TimerHandle | None = None
        #: When that fires, Redis milliseconds.
        self._wakes_at = math.inf
        self._under_way: asyncio.Task[None] | None = None
        #: It rang while something was under way, whose answer may not know of it.
        self._must_repeat = False
        self._is_stopped = False

    def sleep_until(self, at_ms: int | None, least_s: float = 0.0) -> None:
        """``at_ms``: Redis milliseconds; what a sooner time is known for already changes nothing."""
        if at_ms is None or self._is_stopped or at_ms >= self._wakes_at:
            return
        wait_s = max(least_s, at_ms / 1000 - self._clock.at_us(now_s()) / 1e6)
        if wait_s > _HORIZON_S:
            return
        self._cancel_timer()
        self._wakes_at = at_ms
        # A millisecond later, so as not to be early by a part of one.
        self._timer = asyncio.get_running_loop().call_later(wait_s + 0.001, self.ring)

    def ring(self) -> None:
        self._cancel_timer()
        self._wakes_at = math.inf
        if self._is_stopped:
            return
        self._must_repeat = True
        if self._under_way is None:
            self._under_way = asyncio.get_running_loop().create_task(self._act_all())
            self._under_way.add_done_callback(self._ended)

    async def stop(self) -> None:
        self._is_stopped = True
        self._cancel_timer()
        if self._under_way is not None:
            await asyncio.wait({self._under_way})

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ended(self, _: asyncio.Task[None]) -> None:
        self._under_way = None
        # It may have rung between the last look and here.
        if self._must_repeat:
            self.ring()

    async def _act_all(self) -> None:
        try:
            while self._must_repeat and not self._is_stopped:
                self._must_repeat = False
                following = await self._act()
                if following.is_more:
                    self._must_repeat = True
                elif not self._must_repeat:
                    self.sleep_until(following.at_ms, following.least_s)
        except Exception as error:
            self._must_repeat = False
            # The next beat of whoever has the turn tells of it again.
            if isinstance(error, ReplyError):
                self._on_problem(error)
