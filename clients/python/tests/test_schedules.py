"""Jobs at their times, made, kept up and changed from here."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

import pshub.jobs.schedule_entry as schedule_entry
from conftest import Server, eventually
from job_tasks import PREFIX, hub, noted, noted_from_start, serve  # noqa: F401
from pshub import AsyncHub, ConfigError, Hub, InvalidArgs, NoSuchTask, NotEnqueued, Task, Worker, task
from pshub.jobs import cron
from pshub.jobs.cron import next_ms
from pshub.worker.roles.tick import Tick

Serve = Callable[..., Worker]


class Noting:
    def __init__(self) -> None:
        self.runs: list[Any] = []

        @task("tick:1.0", args={})
        def tick(args: Any) -> None:
            self.runs.append((time.time(), args))

        self.task: Task = tick


@pytest.fixture
def noting() -> Noting:
    return Noting()


def test_it_is_listed_paused_run_resumed_and_removed(server: Server, hub: Hub, serve: Serve, noting: Noting) -> None:
    serve(noting.task)
    times: Any = {"cron": "0 3 * * *", "timezone": "Europe/Berlin"}
    hub.schedule("nightly", times, "tick:1.0", {"month": 11}, retries=2)
    hub.schedule("early", {"cron": "0 1 * * *"}, "tick:1.0")
    schedules = hub.schedules("q")
    early, nightly = schedules.list()
    assert (early.name, nightly.name) == ("early", "nightly")
    expected = next_ms("0 3 * * *", "Europe/Berlin", time.time() * 1000)
    assert (nightly.timezone, nightly.missed, nightly.args, nightly.next_ms) == ("Europe/Berlin", "once", {"month": 11}, expected)
    stored = json.loads(server.client.hget(f"{PREFIX}cron", "nightly"))
    assert stored["job"] == {"retries": 2} and stored["from"] == "shop" and stored["args"] == '{"month":11}'
    assert schedules.pause("nightly") is True
    paused = schedules.list()[1]
    assert paused.next_ms is None and paused.paused_ms is not None
    # Written anew by the next deployment, it stays so.
    assert hub.schedule("nightly", times, "tick:1.0", {"month": 12}).next_ms is None
    job = schedules.run("nightly")
    assert job is not None and not job.is_twin
    eventually(lambda: [args for _, args in noting.runs] == [{"month": 12}])
    assert schedules.resume("nightly") is True and schedules.list()[1].next_ms == expected
    assert [schedules.remove("nightly"), schedules.remove("nightly")] == [True, False]
    assert (schedules.pause("nightly"), schedules.resume("nightly"), schedules.run("nightly")) == (False, False, None)
    hub.schedule("twin", times, "tick:1.0", queue="alone", unique=True)
    runs = [hub.schedules("alone").run("twin") for _ in range(2)]
    assert runs[0] and runs[1] and (runs[1].id, runs[1].is_twin) == (runs[0].id, True)
    schedules.remove("early")


@pytest.mark.parametrize(
    ("name", "times", "message"),
    [
        ("no name!", {"cron": "* * * * *"}, "its name must be"),
        ("x", {"cron": "daily"}, "cron 'daily': it must have five fields"),
        ("x", {"cron": 5}, "cron must be a string"),
        ("x", "* * * * *", "cron must be a string"),
        ("x", {"cron": "* * * * *", "timezone": "Mars/Olympus"}, "in Mars/Olympus: there is no such time zone"),
        ("x", {"cron": "* * * * *", "timezone": 5}, "in 5: there is no such time zone"),
        ("x", {"cron": "* * * * *", "missed": "never"}, "missed must be 'once' or 'skip'"),
        ("x", {"cron": "* * * * *", "every": 5}, "there is no option 'every'. Known: cron, timezone, missed"),
        ("x", {"cron": "0 0 30 2 *"}, "it has no run time in the future"),
    ],
)
def test_it_is_refused_with_what_is_wrong(hub: Hub, name: str, times: Any, message: str) -> None:
    with pytest.raises(InvalidArgs, match=message):
        hub.schedule(name, times, "tick:1.0", queue="q")


def test_its_job_and_queue_are_checked(hub: Hub) -> None:
    with pytest.raises(NoSuchTask):
        hub.schedule("x", {"cron": "* * * * *"}, "nobody:1.0")
    with pytest.raises(InvalidArgs, match="there is no option 'every'"):
        hub.schedule("x", {"cron": "* * * * *"}, "nobody:1.0", queue="q", every=5)  # type: ignore[call-arg]
    for timed in ({"delay_ms": 1000}, {"at": 1}):
        with pytest.raises(InvalidArgs, match="is not an option of schedules"):
            hub.schedule("x", {"cron": "* * * * *"}, "nobody:1.0", queue="q", **timed)  # type: ignore[arg-type]
    for look in (hub.schedules, hub.dead):
        with pytest.raises(InvalidArgs, match="must be the name of a queue"):
            look("no queue")


def test_what_cannot_be_read_is_told_of_and_disturbs_no_other(server: Server, hub: Hub, serve: Serve, noting: Noting) -> None:
    hub.schedule("good", {"cron": "* * * * *"}, "tick:1.0", {}, queue="q")
    worse = {"cron": "no times", "task": "tick:1.0", "args": "{}"}
    server.client.hset(f"{PREFIX}cron", mapping={"bad": '{"cron":1}', "worse": json.dumps(worse)})
    past = time.time() * 1000 - 1000
    server.client.zadd(f"{PREFIX}ticks", {"bad": past, "worse": past, "gone": past, "good": past, "ever": "-inf"})
    problems = noted_from_start(serve(noting.task, starts=False), "problem")
    eventually(lambda: len(noting.runs) == 1)
    eventually(lambda: len(problems) >= 4)
    reasons = sorted(event["reason"] for _, event in problems)
    assert [f"The schedule {name} is invalid" in reason for name, reason in zip(("bad", "ever", "gone", "worse"), reasons)] == [True] * 4
    assert server.client.zrange(f"{PREFIX}ticks", 0, -1) == ["good"]
    assert [each.name for each in hub.schedules("q").list()] == ["good", "worse"]
    server.client.delete(f"{PREFIX}cron", f"{PREFIX}ticks")


def test_a_zone_that_is_not_known_here_is_left_to_others(
    server: Server, hub: Hub, serve: Serve, noting: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.schedule("far", {"cron": "0 0 1 1 *", "timezone": "US/Eastern"}, "tick:1.0", {"n": 1}, queue="q")
    hub.schedule("utc", {"cron": "0 0 1 1 *"}, "tick:1.0", {"n": 2}, queue="q")

    def no_data(name: str) -> Any:
        raise KeyError(name)

    with monkeypatch.context() as patch:
        patch.setattr(cron, "ZoneInfo", no_data)
        cron._zone_of.cache_clear()
        past = int(time.time() * 1000) - 60_000
        server.client.zadd(f"{PREFIX}ticks", {"far": past, "utc": past + 1})
        problems = noted_from_start(serve(noting.task, starts=False), "problem")
        eventually(lambda: len(noting.runs) == 1)
        server.client.zadd(f"{PREFIX}ticks", {"utc": past + 1})
        eventually(lambda: len(noting.runs) == 2)
        assert [event["reason"].partition(":")[0] for _, event in problems] == ["The schedule far is left to workers that know its time zone"]
        assert server.client.hget(f"{PREFIX}cron", "far:problem").startswith(f"{past} US/Eastern is not among the time zones")
        assert server.client.zscore(f"{PREFIX}ticks", "far") == past
        with pytest.raises(InvalidArgs, match="US/Eastern is not among"):
            hub.schedules("q").resume("far")
    # It is known again.
    eventually(lambda: len(noting.runs) == 3)
    assert not server.client.hexists(f"{PREFIX}cron", "far:problem")
    assert hub.schedules("q").remove("far") and hub.schedules("q").remove("utc")


def test_without_cronsim_it_is_said(server: Server, hub: Hub, serve: Serve, noting: Noting, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.schedule("late", {"cron": "0 0 1 1 *"}, "tick:1.0", {}, queue="q")
    server.client.zadd(f"{PREFIX}ticks", {"late": time.time() * 1000 - 60_000})
    why = "schedules need the package cronsim; install pshub-client[schedules]"
    monkeypatch.setattr(schedule_entry, "NO_CRON", why)
    monkeypatch.setattr("pshub.worker.roles.tick.NO_CRON", why)
    monkeypatch.setattr(Tick, "is_able", False)
    problems = noted_from_start(serve(noting.task, starts=False), "problem")
    eventually(lambda: problems)
    assert problems[0][1]["where"] == "schedule"
    assert problems[0][1]["reason"].startswith("no worker runs the schedules of queue q, and this one cannot: schedules need")
    # It leaves the turn to those who can.
    assert server.client.get(f"{PREFIX}ticker") is None and server.client.get(f"{PREFIX}turn") is not None
    with pytest.raises(ConfigError, match=r"Schedules need the package cronsim; install pshub-client\[schedules\]"):
        hub.schedule("x", {"cron": "* * * * *"}, "tick:1.0", queue="q")
    with pytest.raises(ConfigError):
        hub.schedules("q").resume("late")
    assert hub.schedules("q").remove("late") is True


def test_for_asyncio_and_without_redis(own_server: Server) -> None:
    async def use() -> None:
        async with AsyncHub(own_server.url) as hub:
            made = await hub.schedule("s", {"cron": "@daily"}, "tick:1.0", {"n": 1}, queue="q")
            schedules = hub.schedules("q")
            assert await schedules.list() == [made._replace(missed="once")]
            assert await schedules.pause("s") and await schedules.resume("s")
            job = await schedules.run("s")
            assert job is not None and own_server.client.llen(f"{PREFIX}jobs") == 1
            own_server.kill()
            with pytest.raises(NotEnqueued):
                await schedules.list()

    asyncio.run(use())
