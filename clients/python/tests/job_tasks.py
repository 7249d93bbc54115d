"""Tasks that tests of jobs run, and what they noted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from conftest import Server
from pshub import Context, Hub, Task, Worker, task

PREFIX = "pshub:{q}:"


class Try(NamedTuple):
    args: Any
    attempt: int
    at: float


class Flaky:
    """A task that fails as often as it is told, and notes each try."""

    def __init__(self, **options: Any) -> None:
        self.tries: list[Try] = []

        @task("flaky:1.0", args={}, **{"backoff": 1, **options})
        def flaky(args: Any, ctx: Context) -> dict[str, int]:
            self.tries.append(Try(args, ctx.attempt, time.time()))
            if isinstance(args, dict) and ctx.attempt <= args.get("fails", 0):
                raise ValueError(f"try {ctx.attempt} {{failed}} [here]")
            return {"attempt": ctx.attempt}

        self.task: Task = flaky


def strict() -> Task:
    return task("strict:1.0", args={"type": "object", "required": ["n"]})(lambda args: 1)


@pytest.fixture
def hub(server: Server) -> Iterator[Hub]:
    with Hub(server.url, name="shop") as hub:
        yield hub


@pytest.fixture
def serve(server: Server) -> Iterator[Callable[..., Worker]]:
    """Starts a worker of queue q with these tasks; with ``starts=False`` the test does."""
    started: list[Worker] = []

    def start(*tasks: Task, starts: bool = True, **options: Any) -> Worker:
        started.append(Worker(server.url, tasks=tasks, **{"queue": "q", **options}))
        return started[-1].start() if starts else started[-1]

    yield start
    for worker in started:
        worker.stop(grace=0)


def noted(worker: Worker, *names: str) -> list[Any]:
    """What a worker tells from now on."""
    told: list[Any] = []
    for name in names:
        worker.events.on(name, lambda event, name=name: told.append((name, event)))  # type: ignore[misc]
    return told


def noted_from_start(worker: Worker, *names: str) -> list[Any]:
    """What a worker tells from its first moment on, which is now: of what waits already, too."""
    told = noted(worker, *names)
    worker.start()
    return told
