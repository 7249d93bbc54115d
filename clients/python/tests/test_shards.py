"""Queues that are spread over shards."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from conftest import Server, eventually
from job_tasks import Flaky, hub, serve  # noqa: F401
from pshub import Aborted, Context, Hub, Task, Worker, task
from pshub.jobs.job_text import moved_message
from pshub.queue.job_queue import CAME_MS
from pshub.queue.shards import home_of
from resharding import Run
from waits import delay

Serve = Callable[..., Worker]
NAMES = ["q", "shard.2.q", "shard.3.q"]


class Line:
    """A task that notes its runs."""

    def __init__(self, takes_s: float = 0) -> None:
        self.runs: list[Run] = []

        @task("sync:1.0", keyed="ordered")
        def sync(key: str, n: int, ctx: Context) -> Any:
            begun = time.monotonic()
            delay(takes_s, "the handler is busy")
            self.runs.append(Run(key, n, begun, time.monotonic()))
            return ctx.fence

        self.task: Task[..., Any] = sync

    def enqueue(self, hub: Hub, key: str, n: int, **options: Any) -> Any:
        return hub.enqueue(self.task, {"key": key, "n": n}, key=key, **options)

    def of(self, key: str) -> list[int]:
        return [run.n for run in self.runs if run.key == key]


def record(epoch: int) -> str:
    return json.dumps({"epoch": epoch, "names": NAMES}, separators=(",", ":"))


def spread(server: Server, text: str, places: Sequence[str] = NAMES) -> None:
    for place in places:
        server.client.set(f"pshub:{{{place}}}:shards", text)


def key_of(home: str) -> str:
    """A key whose jobs run there."""
    return next(key for key in map("key {}".format, range(100)) if home_of(tuple(NAMES), key) == home)


@pytest.fixture
def line(serve: Serve) -> Line:
    """Its task is known, and not served any more."""
    line = Line(takes_s=0.002)
    serve(line.task).stop()
    return line


def test_jobs_that_are_in_the_wrong_shard_are_moved_in_their_order(server: Server, hub: Hub, serve: Serve, line: Line) -> None:
    away, here = key_of("shard.2.q"), key_of("q")
    jobs = [line.enqueue(hub, away, n, queue="q", tracked=True, expires_ms=60_000) for n in range(20)]
    jobs.append(line.enqueue(hub, away, 20, queue="q", tracked=True, delay_ms=50))
    stays = line.enqueue(hub, here, 0, queue="q", tracked=True)
    spread(server, record(3))
    serve(line.task, slots=4)
    serve(line.task, slots=4, queue="shard.2.q")
    fences = [job.result() for job in jobs]
    assert line.of(away) == list(range(21)) and fences == sorted(fences)
    own = [run for run in line.runs if run.key == away]
    assert all(before.ended <= after.begun for before, after in zip(own, own[1:]))
    assert stays.result() and stays.status().queue == "q"
    assert {job.status().queue for job in jobs} == {"shard.2.q"} and jobs[0].queue == "shard.2.q"
    eventually(lambda: not server.held())
    # Only while they are moved it is remembered that they came.
    eventually(lambda: not server.keys("*:came:*"))


def test_a_job_that_was_put_there_before_its_worker_died_is_not_put_there_again(server: Server, hub: Hub, serve: Serve, line: Line) -> None:
    away = key_of("shard.3.q")
    job = line.enqueue(hub, away, 0, queue="q", tracked=True)
    spread(server, record(3))
    place = "pshub:{shard.3.q}:"
    [text] = server.client.lrange(f"pshub:{{q}}:line:sync:1.0:{away}", 0, -1)
    message = moved_message(text, 0)
    assert server.client.fcall("pshub_1_forward", 2, f"{place}jobs", f"{place}jobbell", CAME_MS, message) == 1
    serve(line.task)
    eventually(lambda: not server.client.exists(f"{place}came:{job.id}"))
    eventually(lambda: not server.held())
    assert server.client.lrange(f"{place}line:sync:1.0:{away}", 0, -1)[1:] == []
    serve(line.task, queue="shard.3.q")
    assert job.result() and line.of(away) == [0]


def test_a_job_that_was_moved_is_cancelled_where_it_is(server: Server, hub: Hub, serve: Serve, line: Line) -> None:
    server.client.set("pshub:{shard.2.q}:paused", 1)
    job = line.enqueue(hub, key_of("shard.2.q"), 0, queue="q", tracked=True)
    spread(server, record(3))
    serve(line.task)
    eventually(lambda: server.client.hget(f"pshub:{{q}}:job:{job.id}", "state") == "moved")
    assert job.cancel() and job.queue == "shard.2.q"
    assert job.status().state == "cancelled"
    with pytest.raises(Aborted):
        job.result()


def test_calls_and_jobs_go_to_all_shards_and_those_with_a_key_to_its_home(server: Server, hub: Hub, serve: Serve) -> None:
    line, flaky, pushed = Line(), Flaky(), set()
    for name in NAMES:
        serve(line.task, flaky.task, queue=name, slots=2, job_slots=0)
    # In its own place its tasks were known first.
    spread(server, record(3))
    hub.events.on("queue:pushed", lambda said: pushed.add(said["queue"]))
    eventually(lambda: hub.call("flaky:1.0", {}, queue="q") and pushed == set(NAMES))
    assert hub.call("flaky:1.0", {}, queue="shard.2.q") == {"attempt": 1}
    ids = hub.enqueue_many([("flaky:1.0", {"n": n}) for n in range(9)], queue="q", tracked=True).ids
    assert sorted(hub.job(id, queue="q").queue for id in ids) == sorted(NAMES * 3)
    assert {line.enqueue(hub, key_of(name), 0, queue="q").queue for name in NAMES} == set(NAMES)
    assert {hub.key(line.task, key_of(name), queue="q").status().waiting for name in NAMES} == {1}
    unique = hub.enqueue("flaky:1.0", {}, queue="q", unique="one")
    assert (unique.queue, hub.job(unique.id).queue) == ("q", "q")
    chain = hub.chain([("flaky:1.0", {"n": 1}), ("flaky:1.0", {"n": 2})], queue="q")
    assert chain.steps[1].queue == "q"


def test_a_pause_is_for_all_shards(server: Server, hub: Hub) -> None:
    spread(server, record(3))
    hub.pause("q")
    assert all(server.client.exists(f"pshub:{{{name}}}:paused") for name in NAMES)
    assert hub.resume("q")
    assert not any(server.client.exists(f"pshub:{{{name}}}:paused") for name in NAMES)


def test_dead_jobs_are_those_of_all_shards(server: Server, hub: Hub, serve: Serve) -> None:
    flaky = Flaky(retries=0)
    for name in NAMES:
        serve(flaky.task, queue=name)
    spread(server, record(3))
    hub.enqueue_many([("flaky:1.0", {"fails": 1, "n": n}) for n in range(6)], queue="q")
    dead = hub.dead("q")
    eventually(lambda: dead.count() == 6)
    assert {job.queue for job in dead.list()} == set(NAMES) and len(dead.list(limit=4)) == 4
    assert dead.retry(code="TaskFailed", ids=[dead.list()[-1].id]) == 1
    eventually(lambda: dead.count(code="TaskFailed") == 6)
    assert dead.delete(code="TaskFailed") == 6 and dead.count() == 0
