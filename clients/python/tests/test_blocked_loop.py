"""A coroutine that keeps the loop of the others from its turns."""

from __future__ import annotations

import logging
from typing import Any

from conftest import eventually
from job_tasks import hub, serve  # noqa: F401
from pshub import Hub
from test_async_tasks import Serve, blocking, rest


def test_a_handler_that_blocks_the_loop_is_named(hub: Hub, serve: Serve, caplog: Any) -> None:
    told: dict[str, Any] = {}
    worker = serve(blocking, rest)
    for event in ("loop:stuck", "loop:blocked"):
        worker.events.on(event, lambda told_of, event=event: told.update({event: told_of}))  # type: ignore[misc]
    with caplog.at_level(logging.WARNING, "pshub"):
        other = hub.submit(rest, s=5)
        hub.call(blocking, s=2.8)
        eventually(lambda: "loop:blocked" in told)
    other.cancel()
    assert told["loop:stuck"]["tasks"] == told["loop:blocked"]["tasks"] == ["blocking:1.0"]
    stack = told["loop:stuck"]["stack"]
    assert stack.count("File") == 1 and "in blocking\n    select.select([], [], [], s)" in stack
    assert told["loop:blocked"]["ms"] > 2000
    assert (told["loop:blocked"]["worker"], told["loop:blocked"]["queue"]) == (worker.id, "q")
    lines = [record.getMessage() for record in caplog.records]
    assert [line for line in lines if line.startswith("the event loop was blocked") and "tasks=['blocking:1.0']" in line]
