"""Handlers that yield to a caller that asked for no stream."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from conftest import eventually
from job_tasks import hub, serve  # noqa: F401
from pshub import Hub, Worker, task

Serve = Callable[..., Worker]
#: What handlers saw, in this process.
seen: dict[str, Any] = {}


@task("astorm:1.0", timeout=30)
async def astorm() -> AsyncIterator[int]:
    # Never waits, and so never lets another coroutine run by itself.
    until = time.monotonic() + 5
    while time.monotonic() < until and not seen.get("calm"):
        seen["yielded"] = seen.get("yielded", 0) + 1
        yield seen["yielded"]


@task("acalm:1.0", timeout=30)
async def acalm() -> str:
    seen["calm"] = time.monotonic()
    return "here"


def test_others_run_beside_one_that_waits_for_nothing_and_whose_caller_asked_for_no_stream(serve: Serve, hub: Hub) -> None:
    serve(astorm, acalm)
    began = time.monotonic()
    whole = hub.submit("astorm:1.0")
    eventually(lambda: seen.get("yielded"), 5)
    assert hub.call("acalm:1.0") == "here"
    assert seen["calm"] - began < 4
    assert whole.result(10)[0] == 1
