"""A task in several queues at once: a move, a rollback, a laptop beside a server."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conftest import Server, eventually, maker
from pshub import AsyncHub, Hub, HubError, InvalidArgs, NoSuchTask, NoWorkers
from registered import STATS, TASKS, WORKERS, Started

NAMES = ("where:1.0", "where:1", "where")
Start = Callable[[str], "Started"]


@pytest.fixture
def start(server: Server) -> Iterator[Start]:
    yield from maker(lambda queue: Started(server, queue))


@pytest.fixture
def fresh(server: Server) -> Iterator[Callable[..., Any]]:
    """A call by a hub that knows nothing yet."""

    def call(name: str, **options: Any) -> Any:
        with Hub(server.url) as hub:
            return hub.call(name, {}, **options)

    yield call


def _in_two(server: Server) -> list[str]:
    return sorted(name for name in server.client.hkeys(TASKS) if name.startswith("where"))


def test_it_is_called_where_it_was_first_and_the_second_worker_says_so(server: Server, start: Start, fresh: Any, caplog: Any) -> None:
    first = start("prod")
    second = start("default")
    assert second.told == [{"task": "where:1.0", "queue": "default", "first": "prod"}] and first.told == []
    assert "Task where:1.0 is also served in queue prod, which had it first" in caplog.text
    assert [fresh(name) for name in NAMES] == ["prod"] * 3
    assert _in_two(server) == ["where:1.0", "where:1.0@default"]


@pytest.mark.parametrize("goes, stays", [("prod", "default"), ("default", "prod")])
def test_it_never_is_without_workers_while_one_lives(server: Server, start: Start, fresh: Any, goes: str, stays: str) -> None:
    started = {queue: start(queue) for queue in ("prod", "default")}
    with Hub(server.url) as hub:
        assert hub.call("where:1.0") == "prod"
        started[goes].close()
        assert [fresh(name) for name in NAMES] == [stays] * 3
        # A hub that knew the other one is wrong for as long as it may use a route without asking.
        eventually(lambda: _tried(hub) == stays)
        started[stays].close()
        with pytest.raises(NoWorkers, match=r"where:1\.0.*--queue prod, default"):
            fresh("where:1.0")


def _tried(hub: Hub) -> Any:
    try:
        return hub.call("where:1.0", timeout=0.3)
    except HubError as error:
        assert error.code != "NoWorkers"
        return None


def test_queue_picks_one(server: Server, start: Start) -> None:
    for queue in ("prod", "default"):
        start(queue)
    with Hub(server.url) as hub:
        for name in NAMES:
            for queue in (None, "default", "prod"):
                assert hub.call(name, queue=queue) == (queue or "prod")
        assert hub.call("outer-prod:1.0", {"to": "default"}) == "default"
        gathered = hub.gather(one=("where:1.0", {}, None, "prod"), other=("where:1.0",), queue="default")
        assert {key: each.value for key, each in gathered.items()} == {"one": "prod", "other": "default"}

    async def asked() -> list[Any]:
        async with AsyncHub(server.url) as hub:
            gathered = await hub.gather(one=("where:1.0", {}, None, "prod"), queue="default")
            return [await hub.call("where", queue="default"), gathered["one"].value]

    assert asyncio.run(asked()) == ["default", "prod"]


def test_a_queue_where_it_is_not(server: Server, start: Start, fresh: Any) -> None:
    started = start("prod")
    with pytest.raises(NoWorkers) as error:
        fresh("where:1.0", queue="other")
    assert error.value.message == "No live worker of queue other provides where:1.0. It is served in queue prod."
    started.close()
    with pytest.raises(NoWorkers, match=r"No other queue has a live worker for it either; it is known in: prod\."):
        fresh("where", queue="other")
    with pytest.raises(NoSuchTask):
        fresh("nowhere", queue="other")
    for queue in ("", "a b", 7, "q\nwhere:1.0"):
        with pytest.raises(InvalidArgs, match="^queue must be the name of a queue, not "):
            fresh("where", queue=queue)


def test_callers_of_a_task_that_an_emptied_registry_lost_try_again_until_its_workers_had_time(server: Server, start: Start) -> None:
    started = start("prod")
    with Hub(server.url) as hub:
        hub.call("where:1.0")
        started.close()
        server.client.delete(TASKS)

        def codes() -> list[str]:
            told = []
            for ask in (lambda: hub.call("where"), lambda: hub.enqueue("where:1.0")):
                with pytest.raises(HubError) as error:
                    ask()
                told.append(error.value.code)
            return told

        assert codes() == ["NotEnqueued"] * 2
        with pytest.raises(NoSuchTask):
            hub.call("other:1.0")
        eventually(lambda: codes() == ["NoSuchTask"] * 2)


def test_cards_of_further_queues_are_no_tasks_of_their_own(server: Server, start: Start, fresh: Any) -> None:
    for queue in ("prod", "default"):
        start(queue)
    for name, message in {
        "where:2.0": r"There is no where:2\.0\. Known versions: where:1\.0\.$",
        "wher": r"Did you mean where:1\.0\?$",
        "where:1.0@default": "is not a task name",
    }.items():
        with pytest.raises(NoSuchTask, match=message):
            fresh(name)
    # Found also where the first one is missing or cannot be read.
    for present in (None, '{"task":', "x" * 300_000):
        if present is None:
            server.client.hdel(TASKS, "where:1.0")
        else:
            server.client.hset(TASKS, "where:1.0", present)
        assert [fresh(name) for name in NAMES] == ["default"] * 3


def test_what_cannot_be_read_is_told_once_and_stays(server: Server, start: Start) -> None:
    old = {"task": "old:1.0", "queue": "b", "at": time.time() - 90_000}
    server.client.hset(TASKS, mapping={"junk:1.0": "no card", "old:1.0@b": json.dumps(old)})
    server.client.hset(STATS, mapping={"junk": "no statistics", "gone": '{"seen":1}'})
    server.client.hset(WORKERS, mapping={"junk": "{}", "gone": "{}"})
    started = start("q")
    told = [(event["key"], event["field"], event["reason"]) for event in started.unreadable]
    assert sorted(told) == [(STATS, "junk", "it is not JSON"), (TASKS, "junk:1.0", "it is not JSON")]
    assert server.client.hexists(TASKS, "junk:1.0") and server.client.hexists(WORKERS, "junk")
    assert not server.client.hexists(TASKS, "old:1.0@b") and not server.client.hexists(WORKERS, "gone")
