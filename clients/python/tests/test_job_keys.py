"""A key of a task's jobs: looked at, run now, skipped, deleted."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from conftest import Server, eventually
from job_tasks import PREFIX, hub, noted, serve  # noqa: F401
from merged_tasks import Gate, Merge, Serve
from pshub import AsyncHub, ConfigError, Hub, InvalidArgs, NoSuchTask, task
from pshub.jobs.verdict import done_end
from pshub.wire.keys import Keys
from pshub.wire.message import decode_request


def test_of_merged_jobs(server: Server, hub: Hub, serve: Serve) -> None:
    started_ms = time.time() * 1000
    gate = Gate(ValueError("not yet"))
    merge = Merge(gate, backoff=60_000)
    serve(merge.task)
    key = hub.key(merge.task, "ü {a}")
    assert (key.queue, key.task, key.key) == ("q", "merge:1.0", "ü {a}")
    empty = key.status()
    assert (empty.state, empty.due_ms, empty.run, empty.waiting, empty.payloads, empty.tries) == ("empty", None, None, 0, [], 0)
    assert (key.run_now(), key.skip(), key.delete()) == (0, False, 0)
    hub.enqueue("merge:1.0", 1, key="ü {a}")
    eventually(lambda: merge.begun == 1)
    for score, payload in ((2, {"b": 1}), (1, "x")):
        hub.enqueue("merge:1.0", payload, key="ü {a}", score=score)
    runs = key.status()
    assert runs.state == "running" and runs.run is not None and runs.run.id == f"m-{runs.run.fence}"
    assert started_ms - 10 <= runs.run.since_ms <= time.time() * 1000 + 10 and runs.due_ms is None
    assert (runs.waiting, [tuple(each) for each in runs.payloads]) == (2, [("x", 1), ({"b": 1}, 2)])
    with pytest.raises(InvalidArgs, match='merge:1.0, key "ü {a}": nothing is skipped, because it is running now'):
        key.skip()
    gate.opened.set()
    later = eventually(lambda: (status := key.status()).state == "later" and status)
    assert (later.waiting, later.tries, [error["message"] for error in later.errors]) == (3, 1, ["not yet"])
    assert later.due_ms is not None and later.due_ms > time.time() * 1000 + 30_000
    # What is due then runs at once, without the one that was given up.
    assert key.skip() is True
    eventually(lambda: len(merge.runs) == 2)
    assert {str(each) for each in merge.brought[1]["ü {a}"]} == {"{'b': 1}", "1"}
    [dead] = key.dead()
    assert (dead.args, dead.score, dead.errors[-1]["code"]) == ("x", 1, "Skipped")
    hub.enqueue("merge:1.0", 5, key="ü {a}", delay_ms=60_000)
    assert key.retry_dead() == 1
    eventually(lambda: len(merge.runs) == 3)
    assert merge.brought[2] == {"ü {a}": ["x", 5]}
    hub.enqueue("merge:1.0", 6, key="ü {a}", delay_ms=60_000)
    # The third run may be on its way out still.
    assert key.delete() == 1 and key.dead() == []
    eventually(lambda: key.status().state == "empty")


def test_of_ordered_jobs(hub: Hub, serve: Serve) -> None:
    ran: list[Any] = []

    @task("lined:1.0", keyed="ordered")
    def lined(n: int) -> None:
        ran.append(n)

    serve(lined)
    with pytest.raises(InvalidArgs, match=r"lined:1\.0 is keyed"):
        hub.call(lined, n=0)
    entries: list[Any] = [(lined, {"n": n}, {"key": "a", "delay_ms": 60_000}) for n in (1, 2, 3)]
    batch = hub.batch(entries)
    key = hub.key("lined:1", "a", queue="q")
    status = key.status()
    assert (status.state, status.waiting, [job.args for job in status.jobs]) == ("later", 3, [{"n": 1}, {"n": 2}, {"n": 3}])
    assert [job.id for job in status.jobs] == batch.ids and status.jobs[0].enqueued_ms is not None
    assert key.skip(id=batch.ids[1]) is False and key.skip(id=batch.ids[0]) is True
    eventually(lambda: batch.status().dead == 1)  # type: ignore[union-attr]
    # What comes behind it is due now; and the next one waits for its time again.
    eventually(lambda: ran == [2] and key.status().state == "later")
    assert key.run_now() == 1
    eventually(lambda: ran == [2, 3])
    assert [job.args for job in key.dead()] == [{"n": 1}] and key.delete() == 0


@pytest.mark.strangers
def test_what_is_no_key_is_refused_and_what_others_put_there_counts_as_nothing(server: Server, hub: Hub, serve: Serve) -> None:
    merge = Merge()
    merge.declared(serve)
    for wrong in ("", "x" * 201, 7, None):
        with pytest.raises(InvalidArgs, match="key must be a string of 1 to 200 bytes, not "):
            hub.key("merge:1.0", wrong)  # type: ignore[arg-type]
    with pytest.raises(NoSuchTask):
        hub.key("nobody:1.0", "a")
    with pytest.raises(InvalidArgs, match="queue must be the name of a queue"):
        hub.key("merge:1.0", "a", queue="no queue")
    server.client.set(f"{PREFIX}merged:merge:1.0:a", "text")
    server.client.rpush(f"{PREFIX}line:merge:1.0:a", "no job", '{"at":1,"ttl":0,"id":"b","job":{"tries":2},"task":"merge:1.0","args":[]}')
    server.client.hset(f"{PREFIX}running:merge:1.0", "a", "somebody")
    server.client.hset(f"{PREFIX}tried:merge:1.0", "a", "{not")
    server.client.zadd(f"{PREFIX}keys:merge:1.0", {"a": "inf"})
    status = hub.key("merge:1.0", "a").status()
    assert (status.state, status.run, status.payloads) == ("due", None, [])
    assert ([job.id for job in status.jobs], status.waiting, status.tries) == (["b"], 2, 2)
    server.client.delete(f"{PREFIX}merged:merge:1.0:a", f"{PREFIX}line:merge:1.0:a")
    server.client.zadd(f"{PREFIX}merged:merge:1.0:a", {"{not": 1, b"\xff": "inf"})
    assert [each.args for each in hub.key("merge:1.0", "a").status().payloads] == ["{not", "\ufffd"]


def test_for_asyncio(server: Server, serve: Serve) -> None:
    merge = Merge(Gate())
    merge.declared(serve)

    async def use() -> None:
        async with AsyncHub(server.url) as hub:
            await hub.enqueue(merge.task, 1, key="a", score=3)
            key = await hub.key(merge.task, "a")
            assert ((await key.status()).state, await key.run_now()) == ("due", 1)
            assert (await key.skip(), [job.args for job in await key.dead()]) == (True, [1])
            assert (await key.retry_dead(), await key.delete()) == (1, 1)

    asyncio.run(use())


def test_the_end_of_one_is_told_to_those_behind_it_though_nobody_else_waits_for_it(hub: Hub) -> None:
    def ended(**job: Any) -> Any:
        text = json.dumps({"id": "j1", "job": job, "task": "sync:1.0"}, separators=(",", ":"))
        end = done_end(decode_request(f'{{"at":1,"ttl":0,{text[1:]}', None, Keys("pshub")), "1", "q")
        return end and end.outcome

    assert (ended(retries=1), ended(key="a")) == (None, "done")


def test_a_card_says_how_and_who_enqueues_is_held_to_it(server: Server, hub: Hub, serve: Serve) -> None:
    plain = task("plain:1.0")(lambda: None)
    sync = task("sync:1.0", args={}, keyed="ordered")(lambda args: None)
    serve(plain, sync, job_slots=0)
    cards = {name: json.loads(text) for name, text in server.client.hgetall("pshub:tasks").items()}
    assert cards["sync:1.0"]["keyed"] == "ordered" and "keyed" not in cards["plain:1.0"]
    wrong: list[Any] = [
        ("sync:1.0", {}, "enqueue sync:1.0: its jobs are ordered: give a key, for example key='order-17'."),
        ("sync:1.0", {"key": None, "retries": 1}, "its jobs are ordered: give a key"),
        ("plain:1.0", {"key": "a"}, "no worker declared the task as keyed='ordered' or 'merged'. Declare it so, or leave out the key"),
        ("unseen:1.0", {"key": "a", "queue": "q"}, "no worker declared the task as keyed='ordered' or 'merged'"),
        *(("sync:1.0", {"key": key}, "key must be a string of 1 to 200 bytes, not ") for key in ("", "x" * 201, "ü" * 101, 7, ["a"])),
        *(("sync:1.0", {"key": "a", "priority": each}, "jobs with a key have no priority") for each in ("high", "low")),
    ]  # fmt: skip
    for name, options, message in wrong:
        with pytest.raises(InvalidArgs) as error:
            hub.enqueue(name, {}, **options)
        assert message in error.value.message
    assert server.client.keys(f"{PREFIX}line:*") == []
    for key in ("x" * 200, "ü" * 100, "\ud800{}"):
        hub.enqueue("sync:1.0", {}, key=key, priority="normal")
    assert len(server.client.keys(f"{PREFIX}line:sync:1.0:*")) == 3


def test_a_task_that_cannot_be_so_is_not_declared() -> None:
    wrong: list[dict[str, Any]] = [
        {"keyed": "often"}, {"keyed": True}, {"keyed": "ordered", "on_failure": "stop"}, {"on_failure": "pass"},
    ]  # fmt: skip
    messages = [
        "sync:1.0: 'keyed' must be 'ordered' or 'merged', or be left out.",
        "sync:1.0: 'keyed' must be 'ordered' or 'merged', or be left out.",
        "sync:1.0: 'on_failure' must be 'hold' or 'pass'.",
        "sync:1.0: 'on_failure' is about jobs with a key; give keyed='ordered' too.",
    ]
    for options, message in zip(wrong, messages):
        with pytest.raises(ConfigError) as error:
            task("sync:1.0", **options)
        assert str(error.value) == message
