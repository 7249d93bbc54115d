"""Tests without Redis: tasks run in the caller, with the checks of a worker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import ANY

import pytest

from pshub import ConfigError, Context, HubClosed, InvalidArgs, InvalidResult, NoSuchTask, Progress, PutOff, TaskError, TaskFailed, Timeout, task
from pshub.testing import InlineHub
from pshub.testing.plugin import inline_hub  # noqa: F401

sent: list[str] = []


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    sent.clear()


@task("send_mail:1.0", retries=2, backoff=[60_000, 600_000])
def send_mail(to: str, failures: int = 0, *, ctx: Context) -> int:
    if failures >= ctx.attempt:
        raise RuntimeError(f"refused {ctx.attempt}")
    if to == "nobody":
        raise TaskError("no such address", code="NoSuchAddress", http_status=404, retryable=False)
    sent.append(to)
    return ctx.attempt


@task("double:1.0")
def double(n: int) -> int:
    return 2 * n


@task("double:1.1")
async def double_newer(n: int) -> int:
    return 20 * n


@task("through:1.0")
def through(n: int, ctx: Context) -> int:
    return ctx.call("double:1.0", n=n) + 1


@task("wrong:1.0", result={"type": "integer"})
def wrong():  # type: ignore[no-untyped-def]
    return "text"


def test_calls_run_in_the_caller_with_the_checks_of_a_worker() -> None:
    hub = InlineHub(send_mail, double, double_newer, through, wrong)
    assert (hub.call("double:1.0", n=2), hub.call("double", {"n": 2}), hub.call(double, n=3)) == (4, 40, 6)
    assert hub.call(through, n=5) == 11
    with pytest.raises(InvalidArgs) as refused:
        hub.call("double:1.0", n="x")
    assert refused.value.data["problems"][0]["pointer"] == "/n"
    with pytest.raises(InvalidResult):
        hub.call("wrong:1.0")
    with pytest.raises(NoSuchTask):
        hub.call("doubel:1.0", n=1)
    with pytest.raises(TaskFailed) as failed:
        hub.call(send_mail, to="nobody")
    assert (failed.value.code, failed.value.http_status, failed.value.ran) == ("NoSuchAddress", 404, "yes")
    assert isinstance(failed.value.__cause__, TaskError)
    with pytest.raises(TypeError):
        hub.call("double:1.0", {"n": 1}, n=2)


def test_jobs_wait_for_drain(inline_hub: Callable[..., InlineHub]) -> None:
    hub = inline_hub(send_mail)
    job = hub.enqueue(send_mail, {"to": "ada"})
    later = hub.enqueue("send_mail", {"to": "bob"}, delay_ms=3_600_000)
    assert (sent, job.state) == ([], "waiting")
    with pytest.raises(Timeout):
        job.result()
    assert hub.drain() == 1
    assert (sent, job.result(), later.state) == (["ada"], 1, "waiting")
    hub.advance(3600)
    assert (hub.drain(), sent, hub.drain()) == (1, ["ada", "bob"], 0)


def test_what_was_enqueued_is_found_by_its_arguments() -> None:
    hub = InlineHub(send_mail, double)
    hub.enqueue_many([("send_mail:1.0", {"to": "ada"}), (double, {"n": 1}, {"delay_ms": 1000})])
    hub.enqueue("elsewhere:1.0", {"a": [1]}, queue="others")
    assert hub.expect_enqueued(send_mail, {"to": ANY}).args == {"to": "ada"}
    assert hub.expect_enqueued("double:1").due_ms > hub.now_ms
    assert hub.expect_enqueued("elsewhere", {"a": [1]}).queue == "others"
    assert len(hub.enqueued()) == 3
    with pytest.raises(AssertionError, match=r"with \{'to': 'bob'\}. Enqueued: \{'to': 'ada'\}"):
        hub.expect_enqueued(send_mail, {"to": "bob"})
    with pytest.raises(AssertionError, match="Enqueued: nothing"):
        InlineHub(double).expect_enqueued(double)
    with pytest.raises(InvalidArgs):
        hub.enqueue(double, {"n": "x"})
    with pytest.raises(InvalidArgs, match="delay"):
        hub.enqueue(double, {"n": 1}, delay=5)
    assert len(hub.enqueued()) == 3


def test_what_fails_is_tried_again_when_that_is_due_and_given_up_at_last() -> None:
    hub = InlineHub(send_mail)
    job = hub.enqueue(send_mail, {"to": "ada", "failures": 2})
    assert (hub.drain(), job.state, job.tries) == (1, "retrying", 1)
    hub.advance(59)
    assert hub.drain() == 0
    hub.advance(2)
    assert (hub.drain(), str(job.error)) == (1, "refused 2")
    hub.advance(601)
    assert (hub.drain(), job.result()) == (1, 3)
    dead = hub.enqueue(send_mail, {"to": "nobody"})
    assert (hub.drain(), dead.state, [each.id for each in hub.dead_jobs]) == (1, "dead", [dead.id])
    with pytest.raises(TaskFailed):
        dead.result()


def test_inline_jobs_run_where_they_are_enqueued() -> None:
    hub = InlineHub(send_mail, jobs="inline")
    assert hub.enqueue(send_mail, {"to": "ada"}).state == "done"
    with pytest.raises(RuntimeError, match="refused 1"):
        hub.enqueue(send_mail, {"to": "bob", "failures": 1})
    assert hub.enqueue(send_mail, {"to": "later"}, delay_ms=1000).state == "waiting"
    assert sent == ["ada"]


def test_options_of_jobs_count() -> None:
    hub = InlineHub(send_mail)
    first = hub.enqueue(send_mail, {"to": "once"}, unique=True)
    twin = hub.enqueue(send_mail, {"to": "once"}, unique=True)
    assert (twin.id, twin.is_twin, first.is_twin, len(hub.enqueued())) == (first.id, True, False, 1)
    late = hub.enqueue(send_mail, {"to": "late"}, expires_ms=1000)
    hub.advance(2)
    hub.enqueue(send_mail, {"to": "low"}, priority="low")
    hub.enqueue(send_mail, {"to": "high"}, priority="high")
    hub.drain()
    assert (sent, late.state) == (["high", "once", "low"], "expired")
    assert not hub.enqueue(send_mail, {"to": "once"}, unique=True).is_twin


def test_a_job_that_is_put_off_comes_back_and_a_key_keeps_its_order() -> None:
    ran: list[int] = []

    @task("sync:1.0", keyed="ordered")
    def sync(n: int) -> None:
        ran.append(n)
        if ran == [1]:
            raise PutOff(60_000, "not now")

    hub = InlineHub(sync)
    for n in (1, 2):
        hub.enqueue(sync, {"n": n}, key="k")
    assert (hub.drain(), ran) == (1, [1])
    hub.advance(61)
    assert (hub.drain(), ran) == (2, [1, 1, 2])


def test_says_what_it_cannot_do() -> None:
    hub = InlineHub(double)
    with pytest.raises(ConfigError, match=r"has no chain\(\)"):
        hub.chain([])
    with pytest.raises(AttributeError):
        _ = hub.nonsense
    with pytest.raises(ConfigError, match="'wait' or 'inline'"):
        InlineHub(double, jobs="later")
    with pytest.raises(ConfigError, match="what @task made"):
        InlineHub(print)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="seconds from 0"):
        hub.advance(-1)
    hub.close()
    with pytest.raises(HubClosed):
        hub.call("double:1.0", n=1)
    with pytest.raises(HubClosed):
        hub.enqueue("double:1.0", {"n": 1})


def test_what_readme_says_runs(tmp_path: Path) -> None:
    readme = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
    chapter = readme.split("## Testing without Redis\n")[1].split("\n## ")[0]
    files = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", chapter, re.MULTILINE | re.DOTALL)
    assert [name for name, _ in files] == ["conftest.py", "test_mail.py"]
    for name, code in files:
        (tmp_path / name).write_text(code, encoding="utf-8")
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True, text=True, cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


def test_progress_is_heard() -> None:
    @task("steps:1.0")
    def steps(ctx: Context) -> int:
        ctx.progress(1, 2, "half")
        return 3

    told: list[Progress] = []
    with InlineHub(steps) as hub:
        assert hub.call(steps, on_progress=told.append) == hub.call("steps:1.0") == 3
        assert told == [Progress(1, 2, "half")]
        with pytest.raises(InvalidArgs, match="on_progress must be a function"):
            hub.call(steps, on_progress="x")  # type: ignore[call-overload]
