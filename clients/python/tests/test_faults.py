"""Workers killed, stopped, and given up on."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Server, WorkerProcess, eventually
from pshub import Context, Hub, Worker, WorkerLost, task
from waits import delay

Start = Callable[..., WorkerProcess]


@task("wait_again:1.0", idempotent=True)
def wait_again(s: float, ctx: Context) -> bool:
    return ctx.aborted.wait(s)


def test_a_first_look_that_takes_longer_than_redis_may_be_away_is_waited_for(own_server: Server, start_worker: Start) -> None:
    start_worker(own_server)
    assert own_server.process is not None
    with Hub(own_server.url) as hub:
        own_server.process.send_signal(signal.SIGSTOP)
        try:
            pending = hub.submit("add:1.0", {"x": 1}, timeout=60)
            delay(1.3, "nothing is heard for more than a second, and nothing says that Redis is away")
        finally:
            own_server.process.send_signal(signal.SIGCONT)
        assert pending.result() == 3


def test_the_end_of_the_grace(server: Server, start_worker: Start, tmp_path: Path) -> None:
    worker = start_worker(server, "--grace", "0.3")
    with Hub(server.url) as hub:
        pending = hub.submit("stubborn:1.0", ms=600_000, timeout=60)
        again = hub.submit("first_hangs:1.0", mark=str(tmp_path / "mark"), timeout=60)
        eventually(lambda: server.held() and server.client.hlen(server.held()[0]) == 2 and (tmp_path / "mark").exists())
        worker.signal(signal.SIGTERM)
        with pytest.raises(WorkerLost, match="stopped"):
            pending.result()
        assert worker.wait() == 0
        # Handed back at once, and not only when its lease has ended.
        assert server.held() == [] and server.client.llen("pshub:{default}:calls") == 1
        assert server.client.zcard("pshub:{default}:leases") == 0 and server.client.hlen("pshub:workers") == 0
        following = start_worker(server)
        assert again.result() == following.process.pid


@pytest.mark.long
def test_a_handler_that_computes_costs_no_lease(server: Server, start_worker: Start) -> None:
    worker = start_worker(server, "--lease", "2")
    before = server.client.hkeys("pshub:workers")
    with Hub(server.url) as hub:
        for each in [hub.submit("busy:1.0", ms=4500, timeout=60) for _ in range(2)]:
            assert each.result() > 0
    assert server.client.hkeys("pshub:workers") == before and worker.process.poll() is None


def test_leaving_while_it_runs_hands_back_what_may_run_twice(server: Server) -> None:
    worker = Worker(server.url, tasks=[wait_again]).start()
    with Hub(server.url) as hub:
        pending = hub.submit("wait_again:1.0", s=1.0, timeout=60)
        eventually(lambda: worker.busy == 1)
        worker.stop(grace=0)
        assert server.held() == [] and server.client.llen("pshub:{default}:calls") == 1
        following = Worker(server.url, tasks=[wait_again]).start()
        assert pending.result() is False
        following.stop()


def test_what_a_lost_worker_held_is_told_of(server: Server) -> None:
    told: list[Any] = []
    reply_list = "pshub:reply:{somebody}"
    held = {
        "call": {"id": "call", "task": "wait_again:1.0", "result_queue": reply_list, "losses": 1},
        "no-call": {"id": "no-call", "result_queue": reply_list},
        "job:first": {"id": "first", "task": "other:1.0"},
        "job:third": {"id": "third", "task": "other:1.0", "losses": 2},
    }
    for id, message in held.items():
        server.client.hset("pshub:{default}:held:lost", id, json.dumps(message, separators=(",", ":")))
    server.client.zadd("pshub:{default}:leases", {"lost": 1})
    # Which would take the job that went back.
    worker = Worker(server.url, tasks=[wait_again], job_slots=0)
    for name in ("request:redelivered", "job:dead", "worker:lost"):
        worker.events.on(name, lambda event, name=name: told.append((name, event)))  # type: ignore[misc]
    with worker:
        _, reply = server.client.blpop(reply_list, 60)
        error = json.loads(reply)["error"]
        assert (error["code"], error["message"]) == ("WorkerLost", "2 workers that ran wait_again:1.0 crashed or lost their lease.")
        eventually(lambda: server.held() == [])
        assert server.client.llen(reply_list) == 0
        assert [json.loads(text)["losses"] for text in server.client.lrange("pshub:{default}:jobs", 0, -1)] == [1]
        assert [json.loads(text)["losses"] for text in server.client.zrange("pshub:{default}:dead", 0, -1)] == [3]
        job = {"queue": "default", "task": "other:1.0"}
        assert told == [
            ("request:redelivered", {**job, "id": "first", "losses": 1}),
            ("job:dead", {**job, "id": "third", "reason": "3 workers that ran other:1.0 crashed or lost their lease"}),
            ("worker:lost", {"worker": "lost", "queue": "default", "adopted": 4, "by": worker.id}),
        ]
