"""Handlers that yield to a caller that asked for no stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from conftest import eventually
from job_tasks import hub, serve  # noqa: F401
from pshub import Hub, Worker, task
from waits import PATIENCE_S

Serve = Callable[..., Worker]
#: What handlers saw, in this process.
seen: dict[str, Any] = {}


@task("astorm:1.0", timeout=30)
async def astorm() -> AsyncIterator[int]:
    # Never waits, and so never lets another coroutine run by itself.
    while not seen.get("calm"):
        seen["yielded"] = seen.get("yielded", 0) + 1
        yield seen["yielded"]


@task("acalm:1.0", timeout=30)
async def acalm() -> str:
    seen["calm"] = True
    return "here"


def test_others_run_beside_one_that_waits_for_nothing_and_whose_caller_asked_for_no_stream(serve: Serve, hub: Hub) -> None:
    serve(astorm, acalm)
    whole = hub.submit("astorm:1.0")
    eventually(lambda: seen.get("yielded"))
    assert hub.call("acalm:1.0") == "here"
    assert whole.result(PATIENCE_S)[0] == 1
