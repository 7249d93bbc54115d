"""pshub.testing used wrongly, or by far too much: it says so, and ends."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from pshub import ConfigError, HubClosed, task
from pshub.testing import InMemory, clock
from pshub.testing.plugin import in_memory  # noqa: F401

Make = Callable[..., InMemory]
kits: list[InMemory] = []
ran: list[int] = []


@task("count:1.0", retries=0)
def count(number: int) -> int:
    ran.append(number)
    return number


@task("again:1.0", retries=0)
def again() -> None:
    try:
        kits[-1].hub.enqueue("again:1.0")
    except HubClosed:
        pass


@task("nest:1.0", retries=0)
def nest(depth: int) -> None:
    if depth > 0:
        kits[-1].hub.enqueue("nest:1.0", {"depth": depth - 1})


@pytest.mark.parametrize("jobs", ["run", "wait"])
def test_drain_gives_up_in_time_where_a_job_enqueues_the_next_without_end(in_memory: Make, jobs: str) -> None:
    kit = in_memory(again, jobs=jobs)
    kits.append(kit)
    kit.hub.enqueue(again)
    with pytest.raises(AssertionError, match=r"drain\(\) timed out after 0.5 s"):
        kit.drain(timeout=0.5)


def test_the_clock_says_that_work_never_ends(in_memory: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_ENDLESS_S", 0.3)
    kit = in_memory(again)
    kits.append(kit)
    kit.hub.enqueue(again)
    with pytest.raises(AssertionError, match="Do jobs enqueue each other endlessly"):
        kit.clock.advance(1)


def test_inline_jobs_that_wait_for_more_than_there_are_slots(in_memory: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pshub.testing.inline._TIMEOUT_S", 0.5)
    kit = in_memory(nest, jobs="inline", worker={"slots": 2})
    kits.append(kit)
    kit.hub.enqueue(nest, {"depth": 1})
    with pytest.raises(AssertionError, match="than the worker has slots"):
        kit.hub.enqueue(nest, {"depth": 2})


def test_a_kit_that_was_closed_says_so() -> None:
    with InMemory(count) as kit:
        kit.hub.enqueue(count, {"number": 1})
    for act in (
        kit.drain,
        kit.start_worker,
        kit.worker.start,
        kit.redis.go_away,
        lambda: kit.clock.advance(1),
        lambda: kit.redis.command("PING"),
    ):
        with pytest.raises(ConfigError, match="This kit was closed"):
            act()
    kit.expect_enqueued(count, {"number": 1})
    kit.close()


def test_what_is_no_time_and_no_command(in_memory: Make) -> None:
    kit = in_memory()
    with pytest.raises(ConfigError, match="has passed, and the clock cannot go back"):
        kit.clock.advance_to(datetime.datetime(2001, 1, 1, tzinfo=datetime.timezone.utc))
    with pytest.raises(ConfigError, match="takes a datetime with a time zone"):
        kit.clock.advance_to(datetime.datetime(2100, 1, 1))
    with pytest.raises(ConfigError, match="takes a datetime, not '2030'"):
        kit.clock.advance_to("2030")  # type: ignore[arg-type]
    for words in ([], ["GET", None]):
        with pytest.raises(ConfigError, match="takes the words of a command"):
            kit.redis.command(*words)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"worker": {"tasks": [count]}}, {"worker": {"redis": "x"}}, {"hub": {"redis": "x"}}])
def test_options_that_are_the_kits_own(in_memory: Make, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="the kit sets this option"):
        in_memory(count, **options)


_PROGRAM = """
import gc
from pshub import task
from pshub.testing import InMemory

@task("count:1.0")
def count(number: int) -> int:
    return number

with InMemory(count) as kit:
    kit.hub.call(count, number=1)
    kit.worker.die()
    kit.start_worker()
    kit.redis.go_away()
    kit.redis.come_back()
    assert kit.hub.call(count, number=2) == 2
del kit
gc.collect()
"""


def test_no_connection_is_left_open_behind_it() -> None:
    # In a process of its own, where nobody else leaves any.
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", _PROGRAM]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0 and "ResourceWarning" not in ended.stderr, ended.stderr
