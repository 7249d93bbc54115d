"""Workers killed, connections cut, answers lost, Redis gone and back."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from typing import Any, Callable, Dict, List, Set

import pytest

from conftest import Proxy, Server, WorkerProcess, eventually
from pshub import ConfigError, Context, Hub, HubError, NotEnqueued, Timeout, Worker, WorkerLost, task

Start = Callable[..., WorkerProcess]
calls: Dict[str, int] = {}


@task("add:1.0")
def add(x: int) -> int:
    return x + 2


@task("once:1.0")
def once(token: str) -> int:
    calls[token] = calls.get(token, 0) + 1
    return calls[token]


@task("wait:1.0")
def wait(s: float, ctx: Context) -> bool:
    return ctx.aborted.wait(s)


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
        assert "lease was lost" in worker.said()
        for n in range(20):
            assert hub.call("add:1.0", x=n) == n + 2
    eventually(lambda: server.held() == [])


def test_a_claim_whose_answer_was_lost_is_found(server: Server, make_proxy: Callable[[Server], Proxy]) -> None:
    proxy = make_proxy(server)
    worker = Worker(proxy.url, tasks=[once]).start()
    try:
        with Hub(server.url) as hub:
            assert hub.call("once:1.0", token="warm") == 1
            proxy.loses_answers = True
            pending = hub.submit("once:1.0", token="lost", timeout=15)
            eventually(lambda: server.held())
            proxy.cut()
            proxy.loses_answers = False
            assert pending.result() == 1
            eventually(lambda: server.held() == [])
            assert calls["lost"] == 1
    finally:
        worker.stop()


def test_a_push_whose_answer_was_lost_runs_once(server: Server, make_proxy: Callable[[Server], Proxy]) -> None:
    proxy = make_proxy(server)
    worker = Worker(server.url, tasks=[once]).start()
    try:
        with Hub(proxy.url) as hub:
            for round in range(5):
                # Connected again, else it would be the handshake that is lost.
                assert hub.call("once:1.0", token=f"warm{round}", timeout=10) == 1
                proxy.loses_answers = True
                pending = hub.submit("once:1.0", token=f"push{round}", timeout=10)
                eventually(lambda: calls.get(f"push{round}"))
                proxy.cut()
                proxy.loses_answers = False
                assert pending.result() == 1
    finally:
        worker.stop()
    assert all(calls[f"push{round}"] == 1 for round in range(5))


def test_a_reply_whose_bytes_were_lost_is_read_again(server: Server, make_proxy: Callable[[Server], Proxy]) -> None:
    proxy = make_proxy(server)
    worker = Worker(server.url, tasks=[wait, add]).start()
    try:
        with Hub(proxy.url) as hub:
            for _ in range(3):
                assert hub.call("add:1.0", x=1, timeout=10) == 3
                pending = [hub.submit("wait:1.0", s=0.2, timeout=10) for _ in range(3)]
                eventually(lambda: worker.busy == 3)
                proxy.loses_answers = True
                # Settled as far as the worker can tell, and what was moved off the list is nowhere but in the second one.
                eventually(lambda: worker.busy == 0 and server.held() == [])
                proxy.cut()
                proxy.loses_answers = False
                assert [each.result() for each in pending] == [False] * 3
    finally:
        worker.stop()


def test_cut_connections_lose_no_reply(server: Server, make_proxy: Callable[[Server], Proxy]) -> None:
    hub_side, worker_side = make_proxy(server), make_proxy(server)
    worker = Worker(worker_side.url, tasks=[add], slots=4).start()
    ended = threading.Event()

    def cut() -> None:
        while not ended.wait(0.3):
            hub_side.cut()
            worker_side.cut()

    wrong = []

    def call(base: int) -> None:
        for n in range(60):
            try:
                if hub.call("add:1.0", x=base + n, timeout=20) != base + n + 2:
                    wrong.append(n)
            except HubError as error:
                wrong.append(repr(error))

    try:
        with Hub(hub_side.url) as hub:
            hub.call("add:1.0", x=1)
            threading.Thread(target=cut, daemon=True).start()
            threads = [threading.Thread(target=call, args=(base * 1000,)) for base in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(90)
            ended.set()
            assert wrong == []
            eventually(lambda: server.held() == [], 8)
    finally:
        ended.set()
        worker.stop()


def test_hub_and_worker_survive_a_restart_of_redis(own_server: Server) -> None:
    server = own_server
    worker = Worker(server.url, tasks=[add]).start()
    with Hub(server.url) as hub:
        assert hub.call("add:1.0", x=1) == 3
        roles: Set[str] = set()
        hub.events.on("redis:down", lambda event: roles.add(event["role"]))
        server.kill()
        # What is sent before it notices is in doubt, and may not be called certainly not run.
        eventually(lambda: len(roles) == 2, 5, "the hub notices")
        begun = time.monotonic()
        with pytest.raises(NotEnqueued):
            hub.call("add:1.0", x=1, timeout=5)
        assert time.monotonic() - begun < 1.6
        server.start()
        eventually(lambda: _result(hub) == 3, 10, "a call after the restart")
        # That one may have gone by a route of before. Redis has forgotten everything, and tells others so until the next beat.
        eventually(lambda: server.client.hlen("pshub:workers") > 0, 5, "its card")
        for n in range(50):
            assert hub.call("add:1.0", x=n) == n + 2
    worker.stop()
    assert server.leftovers() == []


def _result(hub: Hub) -> Any:
    try:
        return hub.call("add:1.0", x=1, timeout=1)
    except HubError:
        return None


def test_redis_that_stands_still(own_server: Server) -> None:
    server = own_server
    worker = Worker(server.url, tasks=[add]).start()
    with Hub(server.url) as hub:
        reasons: List[str] = []
        hub.events.on("redis:down", lambda event: reasons.append(event["reason"]))
        assert hub.call("add:1.0", x=1) == 3
        assert server.process is not None
        server.process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        with pytest.raises(HubError) as error:
            hub.call("add:1.0", x=1, timeout=0.5)
        assert time.monotonic() - begun < 0.8 and error.value.code in ("OutcomeUnknown", "Timeout")
        # A server that is silent is given up, also where it would answer again.
        eventually(lambda: any("did not answer" in reason for reason in reasons), 5)
        server.process.send_signal(signal.SIGCONT)
        eventually(lambda: _result(hub) == 3, 8)
    worker.stop()


def test_a_worker_started_without_redis_serves_when_it_is_there(own_server: Server) -> None:
    server = own_server
    server.kill()
    begun = time.monotonic()
    worker = Worker(server.url, tasks=[add]).start()
    assert 1.5 < time.monotonic() - begun < 4
    server.start()
    with Hub(server.url) as hub:
        eventually(lambda: _result(hub) == 3, 8)
    worker.stop()


def test_a_full_redis_can_be_drained(own_server: Server) -> None:
    server = own_server
    worker = Worker(server.url, tasks=[wait, add], slots=2).start()
    with Hub(server.url) as hub:
        running = [hub.submit("wait:1.0", s=0.8, timeout=10) for _ in range(4)]
        eventually(lambda: server.held() and server.client.llen("pshub:{default}:calls") == 2)
        server.client.config_set("maxmemory", 1)
        with pytest.raises(NotEnqueued, match="Redis is full"):
            hub.call("add:1.0", x=1, timeout=2)
        assert [each.result() for each in running] == [False] * 4
        server.client.config_set("maxmemory", 0)
        assert hub.call("add:1.0", x=1) == 3
    worker.stop()
    assert server.leftovers() == []


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


def test_a_handler_that_is_given_up_gives_its_slot_to_others(server: Server, start_worker: Start) -> None:
    start_worker(server, "--slots", "1")
    with Hub(server.url) as hub:
        with pytest.raises(Timeout):
            hub.call("stubborn:1.0", ms=6000, timeout=0.3)
        begun = time.monotonic()
        assert hub.call("add:1.0", x=1, timeout=5) == 3
        assert time.monotonic() - begun < 3


def test_rights_that_lack_are_named(server: Server) -> None:
    server.client.execute_command(
        "ACL", "SETUSER", "poor", "on", ">secret", "resetkeys", "-@all", "~*", "+eval", "+evalsha", "+time", "+hkeys", "+hmget",
        "+zrangebyscore", "+info", "+ping",
    )  # fmt: skip
    url = f"redis://poor:secret@127.0.0.1:{server.port}"
    try:
        with pytest.raises(ConfigError, match="may not serve a queue: it lacks"):
            Worker(url, tasks=[add]).start()
        worker = Worker(server.url, tasks=[add]).start()
        with Hub(url) as hub, pytest.raises(NotEnqueued, match="it lacks .*RPUSH"):
            hub.call("add:1.0", x=1)
        with Hub(f"redis://poor:wrong@127.0.0.1:{server.port}") as hub, pytest.raises(NotEnqueued, match="user or password"):
            hub.call("add:1.0", x=1)
        worker.stop()
    finally:
        server.client.execute_command("ACL", "DELUSER", "poor")


def test_exactly_the_rights_of_the_protocol_are_enough(server: Server) -> None:
    text = (__import__("conftest").ROOT / "PROTOCOL.md").read_text(encoding="utf-8")
    rules = [line.split() for line in text.splitlines() if line.startswith("ACL SETUSER pshub-")]
    names = ("pshub-hub", "pshub-worker")
    for words in rules:
        if words[2] in names:
            server.client.execute_command(*words)
    worker = Worker(f"redis://pshub-worker:secret@127.0.0.1:{server.port}", tasks=[add]).start()
    try:
        with Hub(f"redis://pshub-hub:secret@127.0.0.1:{server.port}") as hub:
            assert hub.call("add:1.0", x=1) == 3
            assert hub.call("add", x=1) == 3
    finally:
        worker.stop()
        for name in names:
            server.client.execute_command("ACL", "DELUSER", name)
