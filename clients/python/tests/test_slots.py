"""What a worker holds and takes, and what it does with requests that only others can run."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conftest import Proxy, Server, eventually
from pshub import Hub, Worker, task
from pshub.worker import slots
from pshub.worker.slot_pool import SlotPool
from pshub.worker.slots import Slots

CALLS, BELL = "pshub:{default}:calls", "pshub:{default}:bell"
may_end = threading.Event()


@task("echo:1.0")
def echo(n: int) -> int:
    return n


@task("gated:1.0")
def gated(n: int) -> int:
    may_end.wait(20)
    return n


@pytest.fixture
def events() -> dict[str, list[dict[str, Any]]]:
    return {}


@pytest.fixture
def serve(events: dict[str, list[dict[str, Any]]]) -> Iterator[Callable[..., Worker]]:
    may_end.clear()
    started: list[Worker] = []

    def start(url: str, **options: Any) -> Worker:
        worker = Worker(url, tasks=[echo, gated], **options)
        for name in ("request:handedback", "claim:taken", "problem"):
            worker.events.on(name, events.setdefault(name, []).append)
        started.append(worker.start())
        return worker

    yield start
    may_end.set()
    for worker in started:
        worker.stop(grace=0)


def _request(id: str, ttl: int, task_name: str = "others:1.0", args: Any = None) -> str:
    request = {"at": time.time_ns() // 1000, "ttl": ttl, "id": id, "task": task_name, "args": args or {}}
    return json.dumps(request, separators=(",", ":"))


def test_a_foreign_request_goes_round_slower_and_slower(server: Server, serve: Any, events: Any) -> None:
    worker = serve(server.url, slots=2)
    server.client.rpush(CALLS, _request("a", 2000))
    server.client.rpush(BELL, "1")
    eventually(lambda: sum(event["expired"] for event in events["claim:taken"]) == 1)
    # 50 + 100 + 200 + 400 + 400 ... within two seconds; once for each turn before.
    assert 1 < len(events["request:handedback"]) < 12
    with Hub(server.url) as hub:
        # All slots are there afterwards.
        pending = [hub.submit("gated:1.0", n=n, timeout=10) for n in range(2)]
        eventually(lambda: worker.busy == 2)
        may_end.set()
        assert [each.result() for each in pending] == [0, 1]
    assert worker.busy == 0


def test_a_foreign_request_holds_up_none_that_the_worker_has(server: Server, serve: Any, events: Any) -> None:
    serve(server.url, slots=1)
    server.client.rpush(CALLS, _request("a", 1000), _request("b", 1000))
    server.client.rpush(BELL, "1")
    with Hub(server.url) as hub:
        assert hub.call("echo:1.0", n=1, timeout=30) == 1
    eventually(lambda: sum(event["expired"] for event in events["claim:taken"]) == 2)


@task("others:1.0", timeout=60)
def others() -> None:
    may_end.wait(60)


def test_a_foreign_job_keeps_no_call_waiting(server: Server, serve: Any, events: Any) -> None:
    serve(server.url, slots=4)
    other = Worker(server.url, tasks=[others], slots=1).start()
    server.client.rpush("pshub:{default}:jobs", *(_request(f"j{n}", 0) for n in range(200)))
    server.client.rpush("pshub:{default}:jobbell", "1")
    eventually(lambda: other.busy == 1 and len(events.get("request:handedback", [])) > 0)
    with Hub(server.url) as hub:
        for n in range(40):
            assert hub.call("echo:1.0", n=n, timeout=30) == n
    # One for each time that its jobs rested; each of these calls waited for one of them.
    assert len(events["request:handedback"]) < 20
    may_end.set()
    eventually(lambda: server.client.exists("pshub:{default}:jobs") == 0 and server.held() == [])
    other.stop()


def test_slots_are_counted_by_what_runs_in_them() -> None:
    own = Slots(SlotPool(4))
    first, second = own.take(), own.take()
    assert (own.busy, own.idle) == (2, 2)
    own.free(first)
    own.free(first)
    assert (own.busy, own.idle) == (1, 3)
    own.reset()
    own.free(second)
    assert (own.busy, own.idle) == (0, 4)


def test_slots_are_not_filled_while_too_much_is_held() -> None:
    own = Slots(SlotPool(2))
    for id in "abef":
        assert own.know(id) and not own.know(id)
    assert own.idle == 2
    own.know("c")
    assert own.idle == 1
    own.know("d")
    assert own.idle == 0
    own.released("abcdef")
    assert own.idle == 2 and [own.was_released(id) for id in "adg"] == [True, True, False]


def test_a_job_that_comes_again_before_its_settle_was_answered_is_held_anew() -> None:
    own = Slots(SlotPool(2))
    assert own.know("job:a", "1") and not own.know("job:a", "1") and own.know("job:a", "2")
    own.settled([("job:a", "1")])
    assert own.knows("job:a") and own.at_of("job:a") == "2" and own.idle == 2
    own.settled([("job:a", "2")])
    assert not own.knows("job:a")


def test_what_was_released_is_remembered_for_a_minute_or_two(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(slots, "now_s", lambda: now[0])
    monkeypatch.setattr(slots, "_MOST_REMEMBERED", 3)
    own = Slots(SlotPool(2))
    own.released(["a"])
    now[0] += 3600
    assert own.was_released("a"), "nothing is forgotten while nothing comes"
    own.released(["b"])
    assert own.was_released("a") and own.was_released("b")
    now[0] += 61
    own.released(["c"])
    assert [own.was_released(id) for id in "abc"] == [False, True, True]
    own.released("defghi")
    assert [own.was_released(id) for id in "bcdefghi"] == [False] * 4 + [True] * 4


def test_a_redis_that_refuses_releases_is_not_asked_for_more_and_more(server: Server, serve: Any, events: Any) -> None:
    client = server.client
    client.execute_command("ACL", "SETUSER", "limited", "on", ">secret", "~*", "&*", "+@all")
    try:
        worker = serve(server.url.replace("redis://", "redis://limited:secret@"), slots=2)
        held = f"pshub:{{default}}:held:{worker.id}"
        with Hub(server.url) as hub:
            assert hub.call("echo:1.0", n=0) == 0
            eventually(lambda: client.hlen(held) == 0)
            client.execute_command("ACL", "SETUSER", "limited", "-hdel")
            pending = [hub.submit("echo:1.0", n=n, timeout=15) for n in range(8)]
            eventually(lambda: client.hlen(held) == 6)
            eventually(lambda: len([event for event in events["problem"] if "lacks a right" in event["reason"]]) > 3)
            assert client.hlen(held) == 6
            client.execute_command("ACL", "SETUSER", "limited", "+hdel")
            assert [each.result() for each in pending] == list(range(8))
            eventually(lambda: client.hlen(held) == 0)
    finally:
        client.execute_command("ACL", "DELUSER", "limited")


def test_nothing_is_released_before_its_reply_was_answered(server: Server, serve: Any, make_proxy: Callable[[Server], Proxy]) -> None:
    proxy = make_proxy(server)
    worker = serve(proxy.url, slots=1)
    with Hub(server.url) as hub:
        pending = hub.submit("gated:1.0", n=1, timeout=15)
        eventually(lambda: worker.busy == 1)
        held = f"pshub:{{default}}:held:{worker.id}"
        proxy.loses_answers = True
        may_end.set()
        assert pending.result() == 1
        # The reply is there, and its answer is not: a second one would go in the same write, and be there by now.
        for _ in range(20):
            server.client.ping()
        assert server.client.hlen(held) == 1
        proxy.cut()
        proxy.loses_answers = False
        eventually(lambda: server.client.hlen(held) == 0)


def test_a_plain_reply_that_a_full_redis_refuses_is_there_before_its_release(own_server: Server, serve: Any) -> None:
    server = own_server
    worker = serve(server.url, slots=1)
    with Hub(server.url) as hub, server.client.monitor() as monitor:
        pending = hub.submit("gated:1.0", n=1, timeout=15)
        eventually(lambda: worker.busy == 1)
        server.client.config_set("maxmemory", 1)
        may_end.set()
        assert pending.result() == 1
        seen: list[str] = []
        while "HDEL" not in seen:
            command = monitor.next_command()["command"]
            # Not what the hub writes into its second list.
            if re.match(r"RPUSH pshub:reply:{[\w-]+} |HDEL pshub:{default}:held:", command):
                seen.append(command.split(" ")[0])
        server.client.config_set("maxmemory", 0)
    # A refused push is not shown; this is the function's.
    assert seen == ["RPUSH", "HDEL"]
