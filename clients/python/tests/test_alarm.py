"""What is done when its time comes, on a clock that this process makes up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from pshub.redis.refusals import ConnectionLost, ReplyError
from pshub.wire.clock import now_s
from pshub.wire.redis_clock import RedisClock
from pshub.worker.alarm import Alarm, Next
from waits import PATIENCE_S, aeventually


class Ringing:
    def __init__(self, act: Callable[[], Awaitable[Next]] | None = None) -> None:
        self.clock = RedisClock()
        self.clock.learn(1_000_000_000_000, now_s())
        self.done: list[float] = []
        self.problems: list[Exception] = []
        self.alarm = Alarm(self.clock, act or self.act, self.problems.append)

    async def act(self) -> Next:
        self.done.append(now_s())
        return Next(None)

    def in_ms(self, ms: int) -> int:
        return int(self.clock.at_us(now_s()) / 1000) + ms

    async def until(self, count: int) -> None:
        await aeventually(lambda: len(self.done) >= count)


async def turns() -> None:
    """Lets all that is ready on the loop run."""
    for _ in range(20):
        await asyncio.sleep(0)


def _run(work: Callable[[], Awaitable[Any]]) -> None:
    asyncio.run(asyncio.wait_for(work(), PATIENCE_S))


def test_a_later_time_does_not_hide_a_sooner_one() -> None:
    async def work() -> None:
        begun, ringing = now_s(), Ringing()
        for ms in (1_800_000, 100, 1_900_000):
            ringing.alarm.sleep_until(ringing.in_ms(ms))
        await ringing.until(1)
        assert ringing.done[0] - begun > 0.09
        await ringing.alarm.stop()

    _run(work)


def test_what_is_far_away_the_beats_tell_of_in_time() -> None:
    async def work() -> None:
        ringing = Ringing()
        ringing.alarm.sleep_until(ringing.in_ms(60_000))
        ringing.alarm.sleep_until(None)
        ringing.alarm.ring()
        await ringing.until(1)
        await turns()
        assert len(ringing.done) == 1
        await ringing.alarm.stop()
        ringing.alarm.ring()
        await turns()
        assert len(ringing.done) == 1

    _run(work)


def test_what_rings_while_it_is_done_is_done_again() -> None:
    async def work() -> None:
        leave, entered = asyncio.Event(), 0

        async def act() -> Next:
            nonlocal entered
            entered += 1
            await leave.wait()
            return Next(None)

        ringing = Ringing(act)
        ringing.alarm.ring()
        await asyncio.sleep(0)
        ringing.alarm.ring()
        ringing.alarm.ring()
        leave.set()
        await aeventually(lambda: entered == 2)
        await turns()
        assert entered == 2
        await ringing.alarm.stop()

    _run(work)


def test_what_fails_is_told_of_and_ends_nothing() -> None:
    async def work() -> None:
        errors: list[Exception] = [ReplyError("OOM"), ConnectionLost("lost")]

        async def act() -> Next:
            if errors:
                raise errors.pop(0)
            return await ringing.act()

        ringing = Ringing(act)
        for _ in range(3):
            ringing.alarm.ring()
            await turns()
        assert len(ringing.done) == 1 and [str(error) for error in ringing.problems] == ["OOM"]
        await ringing.alarm.stop()

    _run(work)
