"""What pshub.testing adds to a hub and a worker: looking at jobs, draining them, the clock, and faults on demand."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from conftest import ROOT
from pshub import ConfigError, Context, Hub, HubError, Timeout, WorkerLost, task
from pshub.testing import InMemory, RedisError
from pshub.testing.plugin import in_memory  # noqa: F401
from pshub.wire.clock import clocks_ahead_s

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


def test_expect_enqueued_finds_what_was_enqueued_with_matchers_in_the_arguments(in_memory: Make) -> None:
    kit = in_memory(mail, daily)
    kit.hub.enqueue(mail, {"to": "ada", "lines": ["ü", 2]}, delay_ms=60_000)
    kit.hub.enqueue_many([("mail:1.0", {"to": "bob"}), ("daily:1.0", {})])
    found = kit.expect_enqueued(mail, {"to": "ada", "lines": ["ü", 2]})
    assert (found.task, found.queue, found.key) == ("mail:1.0", "default", None)
    assert kit.expect_enqueued("mail", {"to": ANY, "lines": ANY}).due_ms > kit.clock.now_ms + 50_000
    assert kit.expect_enqueued("mail:1", {"to": "bob"}).due_ms <= kit.clock.now_ms
    assert [job.args for job in kit.enqueued("mail")] == [{"to": "ada", "lines": ["ü", 2]}, {"to": "bob"}]
    assert len(kit.enqueued()) == 3


def test_expect_enqueued_says_what_was_enqueued_where_that_was_not(in_memory: Make) -> None:
    kit = in_memory(mail, daily)
    with pytest.raises(AssertionError, match="No job of mail:1.0 was enqueued. Enqueued: nothing."):
        kit.expect_enqueued(mail)
    kit.hub.enqueue("daily:1.0")
    with pytest.raises(AssertionError, match="Enqueued: daily:1.0."):
        kit.expect_enqueued(mail, {"to": "ada"})
    kit.hub.enqueue(mail, {"to": "bob"})
    for wrong in ({"to": "ada"}, {"to": "bob", "cc": "ada"}, {"to": ["bob"]}, {}, None):
        with pytest.raises(AssertionError, match="Enqueued: {'to': 'bob'}."):
            kit.expect_enqueued(mail, wrong)


def test_not_counted_is_what_was_there_already_and_what_was_refused(in_memory: Make) -> None:
    kit = in_memory(mail)
    for _ in range(2):
        kit.hub.enqueue(mail, {"to": "ada"}, unique=True, delay_ms=1000)
    with pytest.raises(HubError):
        kit.hub.enqueue("nothing:1.0")
    assert len(kit.enqueued()) == 1


def test_jobs_that_nobody_serves_and_those_of_a_hub_of_the_code_under_test(in_memory: Make) -> None:
    kit = in_memory()
    with Hub(kit.redis.target) as own:
        for n in range(250):
            own.enqueue("elsewhere:1.0", {"n": n}, queue="others")
    assert kit.expect_enqueued("elsewhere:1.0", {"n": 249}).queue == "others"
    assert len(kit.enqueued()) == 250


def test_jobs_wait_until_drain_with_what_they_enqueue_themselves(in_memory: Make) -> None:
    @task("twice:1.0")
    def twice() -> None:
        kit.hub.enqueue(mail, {"to": "by twice"})

    kit = in_memory(mail, twice, jobs="wait")
    kit.hub.enqueue("twice:1.0")
    kit.hub.enqueue(mail, {"to": "later"}, delay_ms=60_000)
    kit.clock.advance(3)
    assert sent == []
    assert kit.drain() == 2
    assert sent == [{"to": "by twice"}]
    assert kit.drain() == 0
    kit.clock.advance(60)
    assert kit.drain() == 1
    assert kit.hub.call(mail, {"to": "called"}) == 1
    assert len(sent) == 3


def test_inline_jobs_run_within_enqueue_and_fail_where_they_are_enqueued(in_memory: Make) -> None:
    @task("outer:1.0")
    def outer() -> None:
        kit.hub.enqueue(mail, {"to": "inner"})
        sent.append("outer")

    @task("aouter:1.0")
    async def aouter(fails: bool) -> None:
        sent.append("aouter")
        if fails:
            raise KeyError("own")

    kit = in_memory(mail, outer, aouter, jobs="inline")
    job = kit.hub.enqueue(mail, {"to": "ada"}, tracked=True)
    assert (sent, job.status().state) == ([{"to": "ada"}], "done")
    with pytest.raises(ValueError, match="refused 1"):
        kit.hub.enqueue(mail, {"failures": 1})
    kit.hub.enqueue(mail, {"to": "later"}, delay_ms=1000)
    assert len(sent) == 2
    kit.hub.enqueue("outer:1.0")
    assert sent[2:] == [{"to": "inner"}, "outer"]
    with pytest.raises(KeyError):
        kit.hub.enqueue("aouter:1.0", {"fails": True})
    assert sent[-1] == "aouter"


def test_drain_tells_what_does_not_end(in_memory: Make) -> None:
    @task("stuck:1.0")
    def stuck(ctx: Context) -> None:
        ctx.aborted.wait(20)

    kit = in_memory(stuck)
    kit.hub.enqueue("stuck:1.0")
    with pytest.raises(AssertionError, match="gave up after 0.2 s: 1 handlers run; left are 1 in pshub:{default}:held:"):
        kit.drain(timeout=0.2)


def test_drain_waits_for_merged_runs_chunks_and_coroutines(in_memory: Make) -> None:
    @task("merged:1.0", keyed="merged", args={})
    def merged(by_key: dict[str, list[Any]]) -> None:
        time.sleep(0.15)
        sent.append(by_key)

    @task("chunks:1.0")
    def chunks() -> Iterator[int]:
        for n in range(3):
            time.sleep(0.05)
            yield n
        sent.append("chunks")

    kit = in_memory(merged, chunks)
    kit.hub.enqueue(merged, 1, key="a")
    kit.hub.enqueue(chunks)
    assert kit.drain() == 2
    assert sorted(sent, key=str) == ["chunks", {"a": [1]}]


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
    assert len(at) == 3 and min(late_ms) >= 0 and max(late_ms) < 2000, late_ms


def test_the_clock_goes_to_a_time_and_not_back_and_is_again_what_it_was(in_memory: Make) -> None:
    kit = in_memory(mail)
    new_year = datetime(2099, 1, 1, tzinfo=timezone.utc)
    kit.clock.advance_to(new_year)
    assert 0 <= kit.clock.now_ms - new_year.timestamp() * 1000 < 1000
    for wrong in (-1, float("inf"), "1", True):
        with pytest.raises(ConfigError, match="seconds from 0"):
            kit.clock.advance(wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="seconds from 0"):
        kit.clock.advance_to(datetime(2020, 1, 1, tzinfo=timezone.utc))
    kit.close()
    assert abs(in_memory(mail).clock.now_ms - time.time() * 1000) < 60_000


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
    with pytest.raises(ConfigError, match="dead already"):
        kit.worker.die()
    kit.worker.start()
    with pytest.raises(ConfigError, match="runs already"):
        kit.worker.start()
    kit.clock.advance(8)
    assert call.result() == "done"


def test_a_call_that_may_not_be_run_twice_is_lost_with_its_worker(in_memory: Make) -> None:
    @task("pay:1.0")
    async def pay(ctx: Context) -> None:
        await asyncio.Event().wait()

    kit = in_memory(pay)
    call = kit.hub.submit("pay:1.0", timeout=60)
    kit.clock.advance(0.01)
    kit.worker.die()
    kit.start_worker()
    kit.clock.advance(8)
    with pytest.raises(WorkerLost):
        call.result()


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


def test_wrong_options_are_refused(in_memory: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="'jobs' must be one of run, inline, wait"):
        in_memory(mail, jobs="later")
    with pytest.raises(ConfigError, match="slots"):
        in_memory(mail, worker={"slots": 0})
    with pytest.raises(ConfigError, match="what @task made"):
        in_memory(lambda: 1)
    monkeypatch.setitem(sys.modules, "lupa", None)
    with pytest.raises(ConfigError, match=r"pip install 'pshub-client\[testing\]'"):
        in_memory(mail)


def test_nothing_is_left_of_it() -> None:
    before = threading.active_count()
    with InMemory(mail) as kit:
        kit.hub.call(mail, {})
        kit.clock.advance(100)
        kit.worker.die()
    deadline = time.monotonic() + 3
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (threading.active_count(), clocks_ahead_s()) == (before, 0)


def test_what_readme_and_the_guide_say_runs(tmp_path: Path) -> None:
    readme = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
    chapter = readme.split("## Testing without Redis\n")[1].split("\n## ")[0]
    files = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", chapter, re.MULTILINE | re.DOTALL)
    assert [name for name, _ in files] == ["conftest.py", "test_mail.py"]
    [guide] = re.findall(r"^```python outline\n(.*?)^```$", (ROOT / "docs/testing.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for name, code in [*files, ("test_guide.py", guide)]:
        (tmp_path / name).write_text(code, encoding="utf-8")
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True, text=True, cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert "5 passed" in ran.stdout, ran.stdout + ran.stderr
