"""Calls that handlers make to other tasks."""

from __future__ import annotations

import threading
from contextvars import copy_context
from typing import Any

from ..figures.events import Events
from ..hub.arguments import Called, CallOptions, name_of, reader_of, wrong_arguments
from ..hub.call import Outgoing
from ..hub.dispatch import Dispatch
from ..hub.loop import LoopThread
from ..hub.pending import PendingCall
from ..settings.table import Settings
from ..wire.clock import now_s
from ..wire.errors import Aborted
from .context import Context


class NestedCalls:
    """Their two connections are only made by the first one. Callers see the queue's name."""

    def __init__(self, settings: Settings, events: Events, thread: LoopThread) -> None:
        self._settings = settings
        self._events = events
        self._thread = thread
        self._lock = threading.Lock()
        self._dispatch: Dispatch | None = None

    def begin(self, context: Context, task: Called, args: Any, timeout_s: float | None, queue: str | None) -> PendingCall[Any]:
        """From any thread: with what remains of the outer call's time, and under its trace. Raises HubError for what cannot be called."""
        called = name_of(task)
        wrong = wrong_arguments(called, timeout_s, queue)
        limit = context.remaining if timeout_s is None or wrong is not None else min(timeout_s, context.remaining)
        if wrong is None and context.cancelled:
            raise Aborted(f"The call of {context.task} had ended before {called} was called.", task=called, ran="no")
        wrong = wrong or wrong_arguments(called, limit, queue)
        dispatch = self._hub()
        if wrong is not None:
            self._thread.post(dispatch.open)
            self._thread.post(dispatch.rejected, copy_context(), called, None, wrong, now_s())
            raise wrong
        pending: PendingCall[Any] = PendingCall(self._thread, dispatch, reader_of(task))
        limit_s = None if limit == float("inf") else limit
        options = CallOptions(limit_s, queue, context.traceparent, context.tracestate)
        out = pending.out = Outgoing(called, args, options, pending._settle)
        self._thread.post(dispatch.begin, out)
        return pending

    def _hub(self) -> Dispatch:
        with self._lock:
            if self._dispatch is None:
                self._dispatch = Dispatch(self._settings, self._events, name=self._settings.queue)
            return self._dispatch

    async def close(self) -> None:
        if self._dispatch is not None:
            await self._dispatch.close()
