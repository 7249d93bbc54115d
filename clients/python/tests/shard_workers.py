"""Workers of a queue that is spread over shards, and their tasks."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conftest import Server, eventually
from pshub import Context, Hub, Task, Worker, task
from resharding import spread
from waits import delay

NAMES = ["q", "shard.2.q", "shard.3.q"]
Serve = Callable[..., Worker]


class Staying:
    """Runs until the test goes on, and has it counted how many do at once."""

    def __init__(self) -> None:
        self.most = self.running = 0
        self.going_on = threading.Event()
        self._lock = threading.Lock()

        @task("stay:1.0", timeout=30, idempotent=True)
        def stay(n: int, ctx: Context) -> int:
            with self._lock:
                self.running += 1
                self.most = max(self.most, self.running)
            while not self.going_on.wait(0.01) and not ctx.cancelled:
                pass
            with self._lock:
                self.running -= 1
            return n

        self.task: Task[..., Any] = stay


class Noting:
    def __init__(self, takes_s: float = 0.0) -> None:
        self.runs: list[Any] = []

        @task("note:1.0", timeout=20, args={})
        def note(args: Any) -> Any:
            delay(takes_s, "the handler is busy")
            self.runs.append(args["n"])
            return args["n"]

        self.task: Task[..., Any] = note


def places(server: Server) -> list[str]:
    """Where there are live workers."""
    return sorted(json.loads(card)["queue"] for card in server.client.hvals("pshub:workers"))


def held_count(server: Server) -> int:
    return sum(server.client.hlen(key) for key in server.held())


@pytest.fixture
def stay() -> Iterator[Staying]:
    staying = Staying()
    yield staying
    staying.going_on.set()


@pytest.fixture
def hub(server: Server) -> Iterator[Hub]:
    with Hub(server.url) as hub:
        yield hub


@pytest.fixture
def begin(server: Server) -> Iterator[Serve]:
    """Starts a worker of queue q with these tasks."""
    started: list[Worker] = []

    def start(*tasks: Task[..., Any], **options: Any) -> Worker:
        started.append(Worker(server.url, tasks=tasks, **{"queue": "q", **options}))
        return started[-1].start()

    yield start
    for worker in started:
        worker.stop(grace=0)


@pytest.fixture
def serve(server: Server, begin: Serve) -> Serve:
    """The same, of a queue that is spread already."""

    def start(*tasks: Task[..., Any], count: int = 3, **options: Any) -> Worker:
        worker = begin(*tasks, **options)
        eventually(lambda: len(places(server)) == count, what="all shards")
        return worker

    return start


def at(server: Server) -> Callable[[str], Any]:
    return lambda key: server.client


@pytest.fixture
def spread_out(server: Server, begin: Serve) -> None:
    # Its library is there once a worker was.
    begin(Noting().task).stop()
    spread(at(server), 1, NAMES)


def push(server: Server, name: str, *numbers: Any) -> None:
    """As whoever writes them by hand."""
    calls = [json.dumps({"task": "note:1.0", "args": {"n": n}}) for n in numbers]
    server.client.rpush(f"pshub:{{{name}}}:calls", *calls)
    if server.client.llen(f"pshub:{{{name}}}:bell") == 0:
        server.client.rpush(f"pshub:{{{name}}}:bell", 1)
