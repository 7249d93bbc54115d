"""Runs one request in the caller, as a worker would: the same checks before and after, and the same words for what went wrong."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

from ..hub.pending import PendingCall
from ..task.task import Task
from ..wire.clock import now_s
from ..wire.errors import HubError, ToldError, from_wire
from ..wire.keys import Keys
from ..wire.message import Request, decode_request
from ..wire.streams import OnProgress
from ..worker.context import Context
from ..worker.handling import Handling, Outcome
from ..worker.yields import WholeList

_KEYS = Keys("pshub")


def request_of(text: str) -> Request:
    """A request as it would have been in its list."""
    return decode_request(text, None, _KEYS)


def error_of(error: ToldError, request: Request) -> HubError:
    """What a caller is told of it."""
    return from_wire(json.loads(error.text), task=request.task, id=request.id)


class Running:
    """``call`` is what handlers call other tasks with."""

    def __init__(self, max_payload_bytes: int, call: Callable[..., Any]) -> None:
        # Nobody reads chunks as they come: who calls gets the list of them.
        self._handling = Handling(max_payload_bytes, lambda request, _: WholeList(request.task, max_payload_bytes))
        self._call = call

    def run(self, task: Task[..., Any], request: Request, timeout_s: float, on_progress: OnProgress | None = None) -> Outcome:
        """Never raises, but for what ends the test itself."""
        context = Context(request, now_s() + timeout_s, self._nested, lambda _, progress: on_progress(progress) if on_progress else None)
        outcome = self._run_async(task, request, context) if task.is_async else self._handling.run(task, request, context)
        if outcome.raised is not None and not isinstance(outcome.raised, Exception):
            # Of the one who interrupts the test, or of pytest: in a worker it would be a failure of the task.
            raise outcome.raised
        return outcome

    def _run_async(self, task: Task[..., Any], request: Request, context: Context) -> Outcome:
        """On an event loop of its own, which a thread must have that runs none."""
        outcomes: list[Outcome] = []

        def on_loop() -> None:
            outcomes.append(asyncio.run(self._handling.run_async(task, request, context)))

        thread = threading.Thread(target=on_loop, name="pshub-inline")
        thread.start()
        thread.join()
        return outcomes[0]

    def _nested(self, context: Context, task: Any, args: Any, timeout: float | None, queue: str | None) -> PendingCall[Any]:
        pending: PendingCall[Any] = PendingCall(None, None)
        limit = context.remaining if timeout is None else min(timeout, context.remaining)
        try:
            pending._settle(self._call(task, args, timeout=limit, queue=queue), None)
        except HubError as error:
            pending._settle(None, error)
        return pending
