"""The clock of pshub.testing, and faults on demand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

from pshub import ConfigError, Context, Timeout, task
from pshub.testing import InMemory, RedisError
from pshub.testing.plugin import in_memory  # noqa: F401
from waits import adelay

Make = Callable[..., InMemory]
sent: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    sent.clear()


@task("mail:1.0", args={}, retries=2, backoff=60_000)
def mail(args: Any, ctx: Context) -> int:
    sent.append(args)
    if args.get("failures", 0) >= ctx.attempt:
        raise ValueError(f"refused {ctx.attempt}")
    return ctx.attempt


@task("daily:1.0")
def daily() -> None:
    sent.append("daily")


def test_the_clock_goes_on_by_days_of_schedules_and_retries(in_memory: Make) -> None:
    kit = in_memory(mail, daily)
    kit.hub.schedule("nightly", {"cron": "0 3 * * *", "timezone": "UTC"}, "daily:1.0")
    kit.hub.enqueue(mail, {"failures": 2})
    kit.clock.advance(59)
    assert len(sent) == 1
    kit.clock.advance(2)
    assert len(sent) == 2
    kit.clock.advance(3 * 24 * 3600)
    assert sent.count("daily") == 3
    assert len(sent) == 6


def test_the_clock_stops_where_something_is_due(in_memory: Make) -> None:
    at: list[int] = []

    @task("when:1.0")
    def when() -> None:
        at.append(kit.clock.now_ms)

    kit = in_memory(when)
    start = kit.clock.now_ms
    delays = [30_000, 3_600_000, 5 * 3_600_000]
    for delay_ms in reversed(delays):
        kit.hub.enqueue("when:1.0", delay_ms=delay_ms)
    kit.clock.advance(6 * 3600)
    late_ms = [moment - start - ms for moment, ms in zip(at, delays)]
    # Not only where the advance ends.
    assert len(at) == 3 and min(late_ms) >= 0 and max(late_ms) < 1_800_000, late_ms


def test_the_clock_goes_to_a_time_and_not_back_and_is_again_what_it_was(in_memory: Make) -> None:
    kit = in_memory(mail)
    new_year = datetime(2099, 1, 1, tzinfo=timezone.utc)
    kit.clock.advance_to(new_year)
    assert kit.clock.now_ms >= new_year.timestamp() * 1000
    for wrong in (-1, float("inf"), "1", True):
        with pytest.raises(ConfigError, match="seconds from 0"):
            kit.clock.advance(wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="has passed"):
        kit.clock.advance_to(datetime(2020, 1, 1, tzinfo=timezone.utc))
    kit.close()
    assert datetime.fromtimestamp(in_memory(mail).clock.now_ms / 1000).year < 2099


def test_a_call_ends_at_its_deadline(in_memory: Make) -> None:
    @task("stuck:1.0")
    def stuck(ctx: Context) -> None:
        ctx.aborted.wait(20)

    kit = in_memory(stuck)
    call = kit.hub.submit("stuck:1.0", timeout=30)
    kit.clock.advance(29)
    assert not call.done()
    kit.clock.advance(1)
    with pytest.raises(Timeout):
        call.result()


def test_a_worker_that_died_can_be_started_again_and_takes_over_what_it_held(in_memory: Make) -> None:
    ran: list[str] = []

    @task("hold:1.0", idempotent=True)
    def hold(ctx: Context) -> str:
        ran.append("start")
        if len(ran) == 1:
            ctx.aborted.wait(20)
        return "done"

    kit = in_memory(hold)
    call = kit.hub.submit("hold:1.0", timeout=60)
    kit.clock.advance(0.01)
    assert kit.worker.busy == 1
    kit.worker.die()
    assert kit.worker.busy == 0
    with pytest.raises(ConfigError, match="already stopped"):
        kit.worker.die()
    kit.worker.start()
    with pytest.raises(ConfigError, match="already running"):
        kit.worker.start()
    kit.clock.advance(8)
    assert call.result() == "done"


def test_redis_is_away_for_as_long_as_the_test_says_and_all_find_it_again(in_memory: Make) -> None:
    kit = in_memory(mail)
    kit.hub.call(mail, {})
    states: list[str] = []
    for name in ("down", "up"):
        kit.worker.worker.events.on(f"redis:{name}", lambda _, name=name: states.append(name))  # type: ignore[misc]
    kit.redis.go_away()
    kit.redis.come_back()
    assert sorted(states) == ["down", "down", "up", "up"]
    assert kit.hub.call(mail, {}) == 1
    assert kit.redis.command("EXISTS", "pshub:workers") == 1
    with pytest.raises(RedisError, match="unknown command"):
        kit.redis.command("NONSENSE")


def test_waits_of_coroutines_go_by_the_clock(in_memory: Make, caplog: pytest.LogCaptureFixture) -> None:
    @task("nap:1.0", timeout=7200)
    async def nap() -> str:
        await adelay(3600, "on the clock of the kit")
        return "rested"

    kit = in_memory(nap)
    call = kit.hub.submit("nap:1.0")
    kit.clock.advance(3500)
    assert not call.done()
    kit.clock.advance(101)
    assert call.result() == "rested"
    assert [record.message for record in caplog.records] == []
