"""Jobs with a key: one at a time of each key, in their order."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from conftest import Server
from job_tasks import PREFIX, hub, noted, serve  # noqa: F401
from pshub import ConfigError, Context, Hub, InvalidArgs, Task, Worker, task
from pshub.jobs.verdict import done_end
from pshub.wire.keys import Keys
from pshub.wire.message import decode_request
from waits import delay

Serve = Callable[..., Worker]


class Run(NamedTuple):
    key: str
    n: int
    attempt: int
    fence: int
    begun: float
    ended: float


class Line:
    """A task that notes its runs, and fails those of number 1 as often as it is told."""

    def __init__(self, fails: int = 0, takes_s: float = 0, **options: Any) -> None:
        self.runs: list[Run] = []

        @task("sync:1.0", keyed="ordered", **{"backoff": 150, **options})
        def sync(key: str, n: int, ctx: Context) -> Any:
            begun = time.monotonic()
            delay(takes_s, "the handler is busy")
            assert ctx.fence is not None
            self.runs.append(Run(key, n, ctx.attempt, ctx.fence, begun, time.monotonic()))
            if n == 1 and ctx.attempt <= fails:
                raise ValueError("not yet")
            return ctx.fence

        self.task: Task[..., Any] = sync

    def enqueue(self, hub: Hub, key: str, n: int, **options: Any) -> Any:
        return hub.enqueue(self.task, {"key": key, "n": n}, key=key, **options)

    def of(self, key: str) -> list[Any]:
        return [(run.n, run.attempt) for run in self.runs if run.key == key]


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
        *(("sync:1.0", {"key": key}, "key must be a text of 1 to 200 bytes, not ") for key in ("", "x" * 201, "ü" * 101, 7, ["a"])),
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
