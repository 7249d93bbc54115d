"""No caller hears that a call was certainly not run which an earlier worker had started."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conftest import Server, eventually
from pshub import Context, Hub, Worker, WorkerLost, task

CALLS = "pshub:{default}:calls"
Serve = Callable[..., Worker]


@task("wait_again:1.0", idempotent=True)
def wait_again(n: int, ctx: Context) -> bool:
    return ctx.aborted.wait(20)


@task("wait_again:1.0", idempotent=True, args={"type": "object", "required": ["new"]})
def stricter(args: Any) -> None:
    """The same as a newer worker declares it, which takes no call of the older ones."""
    raise AssertionError("it must not run")


@task("add:1.0")
def add(x: int) -> int:
    return x + 2


@pytest.fixture
def serve(server: Server) -> Iterator[Serve]:
    started: list[Worker] = []

    def start(*tasks: Any) -> Worker:
        started.append(Worker(server.url, tasks=tasks).start())
        return started[-1]

    yield start
    for worker in started:
        worker.stop(grace=0)


def test_after_its_worker_was_stopped(server: Server, serve: Serve) -> None:
    first = serve(wait_again)
    with Hub(server.url) as hub:
        pending = hub.submit("wait_again:1.0", n=1, timeout=15)
        eventually(lambda: first.busy == 1)
        first.stop(grace=0)
        (text,) = server.client.lrange(CALLS, 0, -1)
        assert text.endswith(',"started":true}') and json.loads(text)["args"] == {"n": 1}
        second = serve(wait_again)
        eventually(lambda: second.busy == 1)
        second.stop(grace=0)
        assert server.client.lrange(CALLS, 0, -1) == [text], "one mark is enough"
        third = serve(stricter)
        with pytest.raises(WorkerLost, match="An earlier worker may have run wait_again:1.0") as lost:
            pending.result()
        assert (lost.value.ran, lost.value.retryable) == ("maybe", False)
        assert lost.value.data["problems"], "what was wrong is told all the same"
        # What is published is what was told.
        published = eventually(lambda: json.loads(server.client.hget("pshub:failures", third.id) or "{}"))
        (failure,) = published["wait_again:1.0"]
        assert failure["code"] == "WorkerLost" and failure["message"].startswith("An earlier worker may have run")


def test_whatever_a_worker_would_answer(server: Server, serve: Serve) -> None:
    serve(add)
    past = int(time.time() - 60) * 1_000_000
    answered: dict[str, Any] = {}
    for name, fields in {
        # Of these the claim cannot see that their time is up.
        "late": {"at": past, "ttl": 1000, "task": "add:1.0"},
        "late-foreign": {"at": past, "ttl": 1000, "task": "other:1.0"},
        "unserved": {"task": "nobody:1.0"},
        "surrogate": {"task": "\ud800:1.0"},
    }.items():
        for mark, value in (("plain", {}), ("started", {"started": True}), ("losses", {"losses": 1})):
            id = f"{name}-{mark}"
            server.client.rpush(CALLS, json.dumps({"id": id, **fields, "result_queue": "pshub:reply:{me}", **value}))
    server.client.rpush("pshub:{default}:bell", "1")

    def all_answered() -> bool:
        replies = map(json.loads, server.client.lrange("pshub:reply:{me}", 0, -1))
        answered.update((reply["id"], reply["error"]) for reply in replies)
        return len(answered) == 12

    eventually(all_answered)
    codes = {"late": "Expired", "late-foreign": "Expired", "unserved": "NoSuchTask", "surrogate": "NoSuchTask"}
    for id, error in answered.items():
        name, mark = id.rsplit("-", 1)
        assert error["code"] == (codes[name] if mark == "plain" else "WorkerLost"), id
        assert error["message"].startswith("An earlier worker may have run") == (mark != "plain"), id
    eventually(lambda: server.held() == [])
