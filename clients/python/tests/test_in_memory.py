"""What pshub.testing adds to a hub and a worker: looking at jobs, and draining them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from conftest import ROOT
from pshub import ConfigError, Context, Hub, HubError, task
from pshub.testing import InMemory
from pshub.testing.plugin import in_memory  # noqa: F401
from pshub.wire.clock import clocks_ahead_s
from waits import delay, eventually

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
    with pytest.raises(AssertionError, match="timed out after 0.2 s: 1 handlers run; left are 1 in pshub:{default}:held:"):
        kit.drain(timeout=0.2)


def test_drain_waits_for_merged_runs_chunks_and_coroutines(in_memory: Make) -> None:
    @task("merged:1.0", keyed="merged", args={})
    def merged(by_key: dict[str, list[Any]]) -> None:
        delay(0.05, "the handler is busy")
        sent.append(by_key)

    @task("chunks:1.0")
    def chunks() -> Iterator[int]:
        for n in range(3):
            delay(0.02, "the handler is busy")
            yield n
        sent.append("chunks")

    kit = in_memory(merged, chunks)
    kit.hub.enqueue(merged, 1, key="a")
    kit.hub.enqueue(chunks)
    assert kit.drain() == 2
    assert sorted(sent, key=str) == ["chunks", {"a": [1]}]


def test_wrong_options_are_refused(in_memory: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="'jobs' must be one of run, inline, wait"):
        in_memory(mail, jobs="later")
    with pytest.raises(ConfigError, match="slots"):
        in_memory(mail, worker={"slots": 0})
    with pytest.raises(ConfigError, match="tasks made by @task"):
        in_memory(lambda: 1)
    monkeypatch.setitem(sys.modules, "lupa", None)
    with pytest.raises(ConfigError, match=r"pip install 'pshub-client\[testing\]'"):
        in_memory(mail)


def test_nothing_is_left_of_it() -> None:
    before = {*threading.enumerate()}
    with InMemory(mail) as kit:
        kit.hub.call(mail, {})
        kit.clock.advance(100)
        kit.worker.die()
    eventually(lambda: not set(threading.enumerate()) - before, "the end of its threads")
    assert clocks_ahead_s() == 0


@pytest.mark.long
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
    assert "2 passed" in ran.stdout, ran.stdout + ran.stderr
