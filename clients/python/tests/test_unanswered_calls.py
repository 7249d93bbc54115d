"""What a hub tells of the calls that no worker ended: PROTOCOL.md, section 11.5."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from called_tasks import add, wait
from conftest import Server, eventually, vectors
from pshub import Context, Hub, HubError, NoSuchTask, NoWorkers, TaskFailed, Worker, task
from pshub.figures.unanswered import Unanswered
from pshub.wire.errors import hub_error
from test_rights import RULES, user

__all__ = ["user"]


def record_of(server: Server, hub_id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(server.client.get(f"pshub:refused:{hub_id}") or '{"tasks":[]}')
    return found


def codes_of(server: Server, hub_id: str) -> dict[str, dict[str, int]]:
    tasks: list[dict[str, Any]] = record_of(server, hub_id)["tasks"]
    return {each["task"]: {code["code"]: code["count"] for code in each["codes"]} for each in tasks}


def test_golden_records() -> None:
    golden = vectors("unanswered-calls.json")
    for case in golden["cases"]:
        refusals = Unanswered()
        for step in case["steps"]:
            at, where = step["at"], (case["title"], step["at"])
            for n in range(step.get("series", 1) if "code" in step else 0):
                error = hub_error(step["code"], step["message"], id=step["id"])
                refusals.count(step["task"].replace("{n}", str(n)), step["queue"], error, at)
            if step.get("again"):
                refusals.again()
            if "changed" in step:
                assert refusals.is_changed(at) is step["changed"], where
            if "recent" in step:
                assert refusals.has_recent is step["recent"], where
            if "redisMs" not in step:
                continue
            text = refusals.text(at, step["redisMs"], golden["name"], golden["host"], golden["pid"])
            if "text" in step:
                assert text == step["text"], where
            else:
                assert [each["task"] for each in json.loads(text)["tasks"]] == step["tasks"], where


def test_they_are_told_by_task_and_code(server: Server) -> None:
    Worker(server.url, tasks=[add]).start().stop()
    with Hub(server.url, name="shop") as hub:
        for _ in range(20):
            with pytest.raises(NoWorkers):
                hub.call("add:1.0", x=1)
        with pytest.raises(NoSuchTask):
            hub.call("nowhere:1.0")
        with pytest.raises(HubError):
            hub.call("add:1.0", x=1, timeout="soon")  # type: ignore[call-overload]
        expected = {"add:1.0": {"NoWorkers": 20, "InvalidArgs": 1}, "nowhere:1.0": {"NoSuchTask": 1}}
        eventually(lambda: codes_of(server, hub.id) == expected, what="their record")
        record = record_of(server, hub.id)
        assert record["name"] == "shop"
        assert server.client.pttl(f"pshub:refused:{hub.id}") > 3_500_000
        assert server.client.pttl("pshub:refusing") > 3_500_000
        assert server.client.zscore("pshub:refusing", hub.id) == record["seen"]


def test_a_hub_that_is_closed_tells_at_once(server: Server) -> None:
    with Hub(server.url) as hub:
        with pytest.raises(NoSuchTask):
            hub.call("nowhere:1.0")
        hub_id = hub.id
        # Longer than the rest of its end takes.
        server.client.execute_command("CLIENT", "PAUSE", 300)
    assert codes_of(server, hub_id) == {"nowhere:1.0": {"NoSuchTask": 1}}


def test_a_hub_whose_rights_are_of_an_earlier_version_keeps_it_to_itself(server: Server, user: Callable[..., str]) -> None:
    url = user("earlier", *(rule for rule in RULES["pshub-hub"] if ":refus" not in rule))
    problems: list[Any] = []

    def denied() -> int:
        return int(server.client.info("commandstats").get("cmdstat_set", {}).get("rejected_calls", 0))

    before = denied()
    with Hub(url) as hub:
        hub.events.on("problem", lambda **told: problems.append(told))
        with pytest.raises(NoSuchTask):
            hub.call("nowhere:1.0")
        eventually(lambda: denied() > before, what="the first try")
        with pytest.raises(NoSuchTask):
            hub.call("elsewhere:1.0")
    assert (problems, denied() - before) == ([], 1)
    assert server.client.keys("pshub:refused:*") == []


@pytest.mark.parametrize("is_async", [False, True])
def test_a_worker_tells_of_the_calls_of_its_handlers(server: Server, is_async: bool) -> None:
    how: dict[str, Any] = {
        "unknown": ("nowhere:1.0", {}, None),
        "left": ("left:1.0", {}, None),
        "wrong": ("add:1.0", {"x": "one"}, None),
        "time": ("add:1.0", {"x": 1}, "soon"),
        "late": ("wait:1.0", {"s": 20}, 0.2),
        "well": ("add:1.0", {"x": 1}, None),
    }

    @task("outer:1.0")
    def outer(name: str, ctx: Context) -> Any:
        called, args, timeout = how[name]
        return ctx.call(called, args, timeout=timeout)

    @task("outer:1.0")
    async def outer_async(name: str, ctx: Context) -> Any:
        called, args, timeout = how[name]
        return await ctx.acall(called, args, timeout=timeout)

    Worker(server.url, tasks=[task("left:1.0")(lambda: None)]).start().stop()
    with Worker(server.url, tasks=[outer_async if is_async else outer, add, wait], queue="shop"), Hub(server.url) as hub:
        assert hub.call("outer:1.0", name="well") == 3
        for name in ("time", "unknown", "left", "wrong", "late", "time"):
            with pytest.raises(TaskFailed):
                hub.call("outer:1.0", name=name)
        expected = {
            "nowhere:1.0": {"NoSuchTask": 1}, "left:1.0": {"NoWorkers": 1}, "add:1.0": {"InvalidArgs": 3}, "wait:1.0": {"Timeout": 1},
        }  # fmt: skip
        [teller] = eventually(lambda: server.client.zrange("pshub:refusing", 0, -1))
        eventually(lambda: codes_of(server, teller) == expected, what="their record")
        assert record_of(server, teller)["name"] == "shop" and teller != hub.id
    # What is refused first of all, at the end of its worker.
    server.client.flushall()
    with Worker(server.url, tasks=[outer_async if is_async else outer]), Hub(server.url) as hub:
        with pytest.raises(TaskFailed):
            hub.call("outer:1.0", name="time")
        eventually(lambda: server.client.zrange("pshub:refusing", 0, -1), what="a record")
