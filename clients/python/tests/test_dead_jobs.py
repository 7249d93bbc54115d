"""Jobs that were given up: looked at, tried again, deleted."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Server, eventually, vectors
from job_tasks import PREFIX, Flaky, hub, serve  # noqa: F401
from pshub import AsyncHub, Hub, InvalidArgs, TaskError, Worker, task
from pshub.jobs.job_text import hastened_message, revived_message

Serve = Callable[..., Worker]


@task("fail:1.0", args={}, retries=1, backoff=1)
def fail(args: Any) -> Any:
    if isinstance(args, dict) and "card" in args:
        return args
    raise ValueError("no {card}")


@task("final:1.0", args={})
def final(args: Any) -> None:
    raise TaskError("gone", retryable=False)


def _bury(hub: Hub, count: int) -> list[str]:
    ids = hub.enqueue_many([("fail:1.0", {"n": n}) for n in range(count)], tracked=True).ids
    eventually(lambda: hub.dead("q").count() >= count)
    return ids


def test_they_are_listed_with_why(hub: Hub, serve: Serve) -> None:
    started_ms = time.time() * 1000
    serve(fail, final)
    [id] = _bury(hub, 1)
    hub.enqueue("final:1.0", [1])
    eventually(lambda: hub.dead("q").count() == 2)
    dead = hub.dead("q")
    latest, first = dead.list()
    assert (latest.task, latest.args, latest.tries, latest.from_) == ("final:1.0", [1], 1, "shop")
    assert (first.id, first.queue, first.task, first.args, first.tries) == (id, "q", "fail:1.0", {"n": 0}, 2)
    assert [(error["code"], error["message"]) for error in first.errors] == [("TaskFailed", "no {card}")] * 2
    assert first.following == 0 and started_ms - 10 <= first.at_ms <= time.time() * 1000 + 10
    assert [job.task for job in dead.list(1)] == ["final:1.0"]
    for matching, count in [
        ({"task": "fail:1.0"}, 1), ({"ids": [id]}, 1), ({"ids": []}, 0), ({"code": "TaskFailed"}, 2), ({"code": "Timeout"}, 0),
        ({"before_ms": first.at_ms}, 0), ({"before_ms": time.time() * 1000 + 60_000}, 2), ({"task": "fail:1.0", "code": "Timeout"}, 0),
    ]:  # fmt: skip
        assert dead.count(**matching) == len(dead.list(**matching)) == count, matching


def test_a_filter_that_is_none_must_not_mean_all_of_them(server: Server, hub: Hub) -> None:
    server.client.zadd(f"{PREFIX}dead", {'{"at":1,"ttl":0,"id":"a","task":"x:1.0","args":{}}': 1})
    dead = hub.dead("q")
    for act in (dead.count, dead.list, dead.retry, dead.delete):
        with pytest.raises(InvalidArgs, match="there is no filter 'older'. Known: ids, task, code, key, before_ms"):
            act(older=5)
        with pytest.raises(InvalidArgs, match="ids must be a list of ids"):
            act(ids="a")
    assert dead.count() == 1


def test_they_are_deleted(server: Server, hub: Hub, serve: Serve) -> None:
    serve(fail)
    ids = _bury(hub, 3)
    assert hub.dead("q").delete(ids=ids[:1]) == 1
    assert sorted(job.id for job in hub.dead("q").list()) == sorted(ids[1:])
    assert hub.dead("q").delete() == 2 and not server.client.exists(f"{PREFIX}dead")


def test_what_somebody_else_put_there_is_left_out(server: Server, hub: Hub) -> None:
    texts = ["no job", '{"task":"x:1.0"}', "[1]", b"\xff", '{"id":"a","task":"x:1.0"}']
    server.client.zadd(f"{PREFIX}dead", dict.fromkeys(texts, 1))
    server.client.zadd(f"{PREFIX}dead", {'{"at":1,"ttl":0,"id":"b","task":"x:1.0","args":{}}': "inf"})
    assert [job.id for job in hub.dead("q").list()] == ["b", "a"]
    assert hub.dead("q").retry() == 2 and server.client.llen(f"{PREFIX}jobs") == 2
    server.client.delete(f"{PREFIX}dead")


@pytest.mark.parametrize("case", vectors("jobs.json")["hastened"], ids=lambda case: case["title"])
def test_hastened(case: Any) -> None:
    assert hastened_message(case["lying"]) == case["message"]


@pytest.mark.parametrize("case", vectors("jobs.json")["revived"], ids=lambda case: case["title"])
def test_revived(case: Any) -> None:
    assert revived_message(case["dead"], case.get("args")) == case["message"]


def test_for_asyncio(server: Server) -> None:
    async def use() -> None:
        async with AsyncHub(server.url) as hub:
            server.client.zadd(f"{PREFIX}dead", {'{"at":1,"ttl":0,"id":"a","task":"x:1.0","args":{}}': 1})
            dead = hub.dead("q")
            assert (await dead.count(), [job.id for job in await dead.list()]) == (1, ["a"])
            assert (await dead.retry({"n": 1}), await dead.delete()) == (1, 0)
            assert json.loads(server.client.lindex(f"{PREFIX}jobs", 0))["args"] == {"n": 1}

    asyncio.run(use())
