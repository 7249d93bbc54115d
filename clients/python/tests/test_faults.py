"""Workers killed, stopped, and given up on."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Server, WorkerProcess, eventually
from pshub import Context, Hub, HubError, Timeout, Worker, WorkerLost, task

Start = Callable[..., WorkerProcess]


@task("wait_again:1.0", idempotent=True)
def wait_again(s: float, ctx: Context) -> bool:
    return ctx.aborted.wait(s)


def test_a_killed_worker(server: Server, start_worker: Start) -> None:
    first, second = start_worker(server), start_worker(server)
    with Hub(server.url) as hub:
        pids = {hub.call("again:1.0", ms=1) for _ in range(20)}
        assert pids <= {first.process.pid, second.process.pid}
        # Not idempotent: WorkerLost as soon as another one adopted it.
        begun = time.monotonic()
        lost = hub.submit("die:1.0", timeout=20)
        with pytest.raises(WorkerLost):
            lost.result()
        assert time.monotonic() - begun < 8
        assert [worker.process.poll() for worker in (first, second)].count(None) == 1
        living = next(worker for worker in (first, second) if worker.process.poll() is None)
        third = start_worker(server)
        # Idempotent: run by the other one.
        again = hub.submit("again:1.0", ms=1500, timeout=20)
        holder = eventually(lambda: server.held())
        cards = {id: json.loads(card) for id, card in server.client.hgetall("pshub:workers").items()}
        victim = cards[holder[0].rsplit(":", 1)[1]]["pid"]
        os.kill(victim, signal.SIGKILL)
        ran_by = again.result()
        assert ran_by != victim and ran_by in (living.process.pid, third.process.pid)
    eventually(lambda: server.held() == [])


def test_sigterm_finishes_what_runs_and_hands_back_the_rest(server: Server, start_worker: Start) -> None:
    worker = start_worker(server, "--slots", "1", "--grace", "5")
    with Hub(server.url) as hub:
        running = hub.submit("stubborn:1.0", ms=1000, timeout=15)
        eventually(lambda: server.held())
        waiting = hub.submit("add:1.0", x=1, timeout=15)
        eventually(lambda: server.client.llen("pshub:{default}:calls") == 1)
        worker.signal(signal.SIGTERM)
        eventually(lambda: '"draining":true' in "".join(server.client.hvals("pshub:stats")), 1)
        assert running.result() == "done"
        assert worker.wait() == 0
        assert server.held() == [] and server.client.llen("pshub:{default}:calls") == 1
        start_worker(server)
        assert waiting.result() == 3


def test_the_end_of_the_grace(server: Server, start_worker: Start) -> None:
    worker = start_worker(server, "--grace", "0.3")
    with Hub(server.url) as hub:
        pending = hub.submit("stubborn:1.0", ms=30_000, timeout=25)
        again = hub.submit("again:1.0", ms=3000, timeout=25)
        eventually(lambda: server.held() and server.client.hlen(server.held()[0]) == 2)
        worker.signal(signal.SIGTERM)
        with pytest.raises(WorkerLost, match="stopped"):
            pending.result()
        assert worker.wait(5) == 0
        # Handed back at once, and not only when its lease has ended.
        assert server.held() == [] and server.client.llen("pshub:{default}:calls") == 1
        assert server.client.zcard("pshub:{default}:leases") == 0 and server.client.hlen("pshub:workers") == 0
        following = start_worker(server)
        assert again.result() == following.process.pid


def test_a_second_signal_ends_it_at_once(server: Server, start_worker: Start) -> None:
    worker = start_worker(server)
    with Hub(server.url) as hub:
        pending = hub.submit("stubborn:1.0", ms=20_000, timeout=3)
        eventually(lambda: server.held())
        worker.signal(signal.SIGTERM)
        time.sleep(0.4)
        worker.signal(signal.SIGTERM)
        assert worker.wait(2) == 128 + signal.SIGTERM
        with pytest.raises(HubError):
            pending.result()


def test_a_handler_that_computes_costs_no_lease(server: Server, start_worker: Start) -> None:
    worker = start_worker(server, "--lease", "2")
    before = server.client.hkeys("pshub:workers")
    with Hub(server.url) as hub:
        for each in [hub.submit("busy:1.0", ms=4500, timeout=15) for _ in range(2)]:
            assert each.result() > 0
    assert server.client.hkeys("pshub:workers") == before and worker.process.poll() is None


def test_a_stopped_worker_settles_nothing(server: Server, start_worker: Start) -> None:
    worker = start_worker(server, "--lease", "2")
    with Hub(server.url) as hub:
        pending = hub.submit("stubborn:1.0", ms=1500, timeout=20)
        eventually(lambda: server.held())
        worker.signal(signal.SIGSTOP)
        start_worker(server)
        with pytest.raises(WorkerLost):
            pending.result()
        before = set(server.client.hkeys("pshub:workers"))
        worker.signal(signal.SIGCONT)
        # It goes on under a new id, and can be called.
        eventually(lambda: set(server.client.hkeys("pshub:workers")) - before, 8)
        assert "the lease ended" in worker.said()
        for n in range(20):
            assert hub.call("add:1.0", x=n) == n + 2
    eventually(lambda: server.held() == [])


def test_leaving_while_it_runs_hands_back_what_may_run_twice(server: Server) -> None:
    worker = Worker(server.url, tasks=[wait_again]).start()
    with Hub(server.url) as hub:
        pending = hub.submit("wait_again:1.0", s=1.0, timeout=15)
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
        _, reply = server.client.blpop(reply_list, 8)
        error = json.loads(reply)["error"]
        assert (error["code"], error["message"].split(";")[0]) == ("WorkerLost", "2 workers that ran wait_again:1.0 died")
        eventually(lambda: server.held() == [])
        assert server.client.llen(reply_list) == 0
        assert [json.loads(text)["losses"] for text in server.client.lrange("pshub:{default}:jobs", 0, -1)] == [1]
        assert [json.loads(text)["losses"] for text in server.client.zrange("pshub:{default}:dead", 0, -1)] == [3]
        job = {"queue": "default", "task": "other:1.0"}
        assert told == [
            ("request:redelivered", {**job, "id": "first", "losses": 1}),
            ("job:dead", {**job, "id": "third", "reason": "3 workers that ran other:1.0 died"}),
            ("worker:lost", {"worker": "lost", "queue": "default", "adopted": 4, "by": worker.id}),
        ]


def test_a_handler_that_is_given_up_gives_its_slot_to_others(server: Server, start_worker: Start) -> None:
    start_worker(server, "--slots", "1")
    with Hub(server.url) as hub:
        with pytest.raises(Timeout):
            hub.call("stubborn:1.0", ms=6000, timeout=0.3)
        begun = time.monotonic()
        assert hub.call("add:1.0", x=1, timeout=5) == 3
        assert time.monotonic() - begun < 3
