"""Workers whose queue is spread over shards: each serves all of them with its slots."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Server, WorkerProcess, eventually
from pshub import Hub, Worker, task
from resharding import Run, change, check_order, spread
from shard_workers import NAMES, Noting, Staying, at, begin, held_count, hub, places, push, serve, spread_out, stay  # noqa: F401
from waits import delay

Serve = Callable[..., Worker]


def test_work_in_all_shards_is_run_with_the_slots_of_one(server: Server, hub: Hub, begin: Serve, stay: Staying) -> None:
    serving = begin(stay.task, slots=3, job_slots=2)
    settled: list[str] = []
    serving.events.on("task:settled", lambda event: settled.append(event["queue"]))
    assert places(server) == ["q"]
    # It hears of them while it runs.
    spread(at(server), 1, NAMES)
    eventually(lambda: places(server) == NAMES)
    calls = [hub.submit("stay:1.0", {"n": n}, queue=name, timeout=30) for name in NAMES for n in range(5)]
    jobs = hub.enqueue_many([("stay:1.0", {"n": n}) for n in range(9)], queue="q")
    # None may end before: one that was refused says why.
    eventually(lambda: [call.result() for call in calls if call.done()] or stay.running == 3)
    assert (held_count(server), serving.busy) == (3, 3)
    stay.going_on.set()
    assert [call.result() for call in calls] == list(range(5)) * 3
    eventually(lambda: len(settled) == 24)
    assert sorted(set(settled)) == NAMES and len(jobs.ids) == 9 and stay.most == 3
    eventually(lambda: held_count(server) == 0 and serving.busy == 0)


@pytest.mark.usefixtures("spread_out")
def test_jobs_leave_slots_for_calls_in_all_shards_together(server: Server, hub: Hub, serve: Serve, stay: Staying) -> None:
    serving = serve(stay.task, slots=4, job_slots=2)
    hub.enqueue_many([("stay:1.0", {"n": n}) for n in range(12)], queue="q")
    eventually(lambda: serving.busy == 2)
    # As many as may run: further ones are not listened to, calls are.
    calls = [hub.submit("stay:1.0", {"n": 7}, queue=name, timeout=30) for name in NAMES[1:]]
    # A slot is taken a moment before its handler begins: all four must run before any of them may end.
    eventually(lambda: stay.running == 4)
    assert (held_count(server), serving.busy) == (4, 4)
    stay.going_on.set()
    assert [call.result() for call in calls] == [7, 7]
    waiting = lambda: sum(server.client.llen(f"pshub:{{{name}}}:jobs") for name in NAMES)  # noqa: E731
    eventually(lambda: held_count(server) == 0 and waiting() == 0)
    assert stay.most == 4


@pytest.mark.usefixtures("spread_out")
def test_one_that_waits_hears_each_of_the_bells(server: Server, hub: Hub, serve: Serve) -> None:
    noting = Noting()
    serve(noting.task, slots=2)
    for n, name in enumerate([*NAMES, *reversed(NAMES)]):
        assert hub.call("note:1.0", {"n": n}, queue=name) == n
        assert hub.enqueue("note:1.0", {"n": n}, queue=name, tracked=True, delay_ms=50).result(timeout_ms=60_000) == n
    assert noting.runs == [n for n in range(6) for _ in range(2)]


@pytest.mark.usefixtures("spread_out")
def test_a_place_that_is_paused_keeps_none_of_the_others(server: Server, hub: Hub, serve: Serve) -> None:
    noting, told = Noting(), []
    serving = serve(noting.task, slots=1)
    for event in ("queue:paused", "queue:resumed"):
        serving.events.on(event, lambda said: told.append(said["queue"]))  # type: ignore[misc]
    server.client.set(f"pshub:{{{NAMES[1]}}}:paused", 1)
    eventually(lambda: told == NAMES[1:2])
    held_up = hub.submit("note:1.0", {"n": 1}, queue=NAMES[1], timeout=20)
    for n in range(2, 5):
        assert [hub.call("note:1.0", {"n": n}, queue=name) for name in (NAMES[0], NAMES[2])] == [n, n]
    assert len(noting.runs) == 6 and server.client.llen(f"pshub:{{{NAMES[1]}}}:calls") == 1
    server.client.delete(f"pshub:{{{NAMES[1]}}}:paused")
    assert held_up.result() == 1 and told == [NAMES[1]] * 2


def test_a_shard_that_is_none_any_more_is_served_until_nothing_is_left(server: Server, hub: Hub, begin: Serve, stay: Staying) -> None:
    serving = begin(stay.task, slots=3)
    spread(at(server), 1, NAMES)
    eventually(lambda: places(server) == NAMES)
    spread(at(server), 2, NAMES[:1], NAMES)
    running = hub.submit("stay:1.0", {"n": 1}, queue=NAMES[1], timeout=30)
    eventually(lambda: serving.busy == 1)
    ended: list[str] = []
    serving.events.on("worker:stopped", lambda event: ended.append(event["queue"]))
    spread(at(server), 3, NAMES[:1])
    for name in NAMES[1:]:
        server.client.set(f"pshub:{{{name}}}:shards", server.client.get("pshub:{q}:shards"))
    # With the next beats it leaves the one where it holds nothing.
    eventually(lambda: ended == [NAMES[2]])
    assert places(server) == NAMES[:2]
    stay.going_on.set()
    assert running.result() == 1
    eventually(lambda: places(server) == NAMES[:1])
    assert server.keys("pshub:{shard.*:leases") == set()
    assert hub.call("stay:1.0", {"n": 5}, queue="q") == 5
    # It comes again.
    spread(at(server), 4, NAMES[:2], NAMES[:1], is_coming=True)
    eventually(lambda: places(server) == NAMES[:2])
    assert hub.call("stay:1.0", {"n": 6}, queue=NAMES[1]) == 6


@pytest.mark.long
def test_nothing_is_lost_doubled_or_reordered_while_the_number_changes(server: Server, begin: Serve) -> None:
    runs: list[Run] = []

    @task("sync:1.0", keyed="ordered")
    def sync(key: str, n: int) -> None:
        begun = time.monotonic()
        delay(random.random() * 0.004, "handlers take different times")
        runs.append(Run(key, n, begun, time.monotonic()))

    workers = [begin(sync, slots=4, job_slots=4) for _ in range(2)]
    hubs = [Hub(server.url) for _ in range(2)]
    five = [*NAMES, "shard.4.q", "shard.5.q"]
    over, counts = threading.Event(), {f"key {at}": 0 for at in range(8)}

    def load(at: int) -> None:
        key = f"key {at}"
        while not over.wait(random.random() * 0.05):
            hubs[at % 2].enqueue("sync:1.0", {"key": key, "n": counts[key]}, key=key, queue="q")
            counts[key] += 1

    loads = [threading.Thread(target=load, args=(at,)) for at in range(8)]
    for each in loads:
        each.start()
    lines = lambda: server.keys("*:line:*")  # noqa: E731
    try:
        for epoch, names, earlier in ((1, NAMES, NAMES[:1]), (4, five, NAMES), (7, NAMES[:2], five)):
            change(at(server), lines, epoch, names, earlier)
    finally:
        over.set()
        for each in loads:
            each.join()
    eventually(lambda: len(runs) >= sum(counts.values()))
    eventually(lambda: held_count(server) == 0)
    check_order(counts, runs)
    # They have left what was taken away.
    eventually(lambda: places(server) == sorted(NAMES[:2] * 2))
    for each_hub in hubs:
        each_hub.close()
    for worker in workers:
        worker.stop()
    assert server.leftovers() == sorted(f"pshub:{{{name}}}:shards" for name in five)


@pytest.mark.long
@pytest.mark.usefixtures("spread_out")
def test_a_killed_one_is_adopted_from_in_every_place(server: Server, hub: Hub, start_worker: Callable[..., WorkerProcess], tmp_path: Path) -> None:
    arguments = ("--queue", "q", "--slots", "8", "--job-slots", "4")
    victim = start_worker(server, *arguments)
    eventually(lambda: len(places(server)) == 3)
    again = [hub.submit("first_hangs:1.0", {"mark": str(tmp_path / name)}, queue=name, timeout=60) for name in NAMES]
    # In turn.
    jobs = [hub.enqueue("first_hangs:1.0", {"mark": str(tmp_path / f"job{n}")}, queue="q", tracked=True) for n in range(3)]
    eventually(lambda: held_count(server) == 6)
    assert sorted(key.split("{")[1].split("}")[0] for key in server.held()) == NAMES
    # Not only claimed: a run that has not begun would be the first one elsewhere, and hang there.
    eventually(lambda: len(list(tmp_path.iterdir())) == 6)
    victim.signal(signal.SIGKILL)
    following = start_worker(server, *arguments)
    pid = following.process.pid
    assert [call.result() for call in again] == [pid] * 3
    assert [job.result(timeout_ms=30_000) for job in jobs] == [pid] * 3
    eventually(lambda: server.held() == [])
    eventually(lambda: [server.client.zcard(f"pshub:{{{name}}}:leases") for name in NAMES] == [1, 1, 1])


@pytest.mark.usefixtures("spread_out")
def test_what_it_leaves_behind_is_nothing(server: Server, hub: Hub, serve: Serve, stay: Staying) -> None:
    serving = serve(stay.task, slots=6, job_slots=6)
    running = [hub.enqueue("stay:1.0", {"n": 3}, queue="q", tracked=True) for _ in NAMES]
    eventually(lambda: held_count(server) == 3)
    ended: list[Any] = []
    serving.events.on("worker:stopped", lambda told: ended.append((told["queue"], told["handed_back"], told["abandoned"])))
    serving.stop(grace=0.1)
    # What may run twice is in each list again.
    assert sorted(ended) == [(name, 1, 1) for name in NAMES]
    assert [server.client.llen(f"pshub:{{{name}}}:jobs") for name in NAMES] == [1, 1, 1]
    assert (server.held(), server.keys("*:leases"), places(server)) == ([], set(), [])
    stay.going_on.set()
    other = serve(stay.task)
    assert [job.result(timeout_ms=20_000) for job in running] == [3, 3, 3]
    other.stop()
    hub.close()
    assert server.leftovers() == sorted(f"pshub:{{{name}}}:shards" for name in NAMES)


@pytest.mark.usefixtures("spread_out")
def test_a_record_that_was_lost_is_brought_back(server: Server, serve: Serve, stay: Staying) -> None:
    serve(stay.task)
    text = server.client.get("pshub:{q}:shards")
    for name in NAMES:
        server.client.delete(f"pshub:{{{name}}}:shards")
        eventually(lambda: server.client.get(f"pshub:{{{name}}}:shards") == text)


@pytest.mark.usefixtures("spread_out")
def test_it_has_two_connections(server: Server, serve: Serve, stay: Staying) -> None:
    serve(stay.task)
    names = [client["name"] for client in server.client.client_list()]
    assert len([name for name in names if name.startswith("pshub-worker-")]) == 2
