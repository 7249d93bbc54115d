"""Calls that handlers make to other tasks."""

from __future__ import annotations

from typing import Any, Optional

from ..figures.events import Events
from ..hub.arguments import name_of, reader_of, wrong_arguments
from ..hub.call import Outgoing
from ..hub.dispatch import Dispatch
from ..hub.loop import LoopThread
from ..hub.pending import PendingCall
from ..settings.table import Settings
from ..wire.errors import Aborted
from .context import Context


class NestedCalls:
    """Their two connections are only made by the first one. Callers see the queue's name."""

    def __init__(self, settings: Settings, events: Events, thread: LoopThread) -> None:
        self._settings = settings
        self._events = events
        self._thread = thread
        self._dispatch: Optional[Dispatch] = None

    def call(self, context: Context, task: Any, args: Any, timeout_s: float, queue: Optional[str]) -> Any:
        """On a slot's thread: with what remains of the outer call's time, and under its trace."""
        called = name_of(task)
        wrong = wrong_arguments(called, timeout_s, queue)
        if wrong is None and context.cancelled:
            wrong = Aborted(f"The call of {context.task} was over before {called} was called.", task=called, ran="no")
        if wrong is not None:
            raise wrong
        if self._dispatch is None:
            self._dispatch = Dispatch(self._settings, self._events, name=self._settings.queue)
        pending: PendingCall[Any] = PendingCall(self._thread, self._dispatch, reader_of(task))
        limit = None if timeout_s == float("inf") else timeout_s
        out = pending.out = Outgoing(called, args, limit, context.traceparent, pending._settle, context.tracestate, queue)
        context._watch(pending)
        try:
            self._thread.post(self._dispatch.begin, out)
            return pending.result()
        finally:
            context._unwatch(pending)

    async def close(self) -> None:
        if self._dispatch is not None:
            await self._dispatch.close()
