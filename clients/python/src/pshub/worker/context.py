"""The context of a handler."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, overload

from ..hub.arguments import MISSING, Called, arguments_of
from ..hub.pending import PendingCall
from ..outlets.task_log import TaskLog
from ..task.task import R, Task, TaskContext
from ..wire.clock import now_s
from ..wire.errors import HubError
from ..wire.message import Request
from ..wire.streams import Progress, check_progress

#: Begins a call: of a task, with arguments, a limit in seconds, and a queue.
NestedCall = Callable[["Context", Called, Any, float | None, str | None], PendingCall[Any]]


class Context(TaskContext):
    """The context of a call for its handler; declare a parameter named ``ctx``, or one with this class as its hint."""

    def __init__(self, request: Request, end: float, nested_call: NestedCall, tell: Callable[[Request, Context, Progress], None]) -> None:
        self._tell = tell
        self._request = request
        self._end = end
        self._nested_call = nested_call
        self._aborted: threading.Event | None = None
        self._lock = threading.Lock()
        #: Why it was told to stop, once it was.
        self.reason: HubError | None = None
        #: Its end was told: what a handler says that was given up concerns nobody any more.
        self.is_over = False
        #: What goes when this call does: its nested ones, and its coroutine.
        self._bound: set[Any] = set()
        #: The thread whose event loop runs the handler, of one that is a coroutine.
        self._loop_thread: int | None = None

    @property
    def id(self) -> str:
        """The request id."""
        return self._request.id

    @property
    def task(self) -> str:
        """``name:version``"""
        return self._request.task

    @property
    def caller(self) -> str | None:
        """Name of the calling service."""
        return self._request.from_

    @property
    def attempt(self) -> int:
        """Number of this try of a job, from 1; for merged jobs that of the key that failed most. Always 1 for a call."""
        job = self._request.job or {}
        return max([job.get("tries", 0), *(key.tries for key in job.get("run", []))]) + 1

    @property
    def fence(self) -> int | None:
        """
        Fencing token for a job with a key: higher than that of all earlier runs with the same key; else None. Let your storage reject
        writes with a lower token, to be safe from a worker that has lost its lease.
        """
        return (self._request.job or {}).get("fence")

    @property
    def traceparent(self) -> str | None:
        """W3C trace context of the call."""
        return self._request.traceparent

    @property
    def tracestate(self) -> str | None:
        """What tracing systems add to it."""
        return self._request.tracestate

    @property
    def remaining(self) -> float:
        """Seconds until the deadline; inf without one."""
        return max(0.0, self._end - now_s())

    @property
    def aborted(self) -> threading.Event:
        """Set when the deadline passes, the caller cancels, or the worker stops. Wait on it instead of sleeping."""
        with self._lock:
            if self._aborted is None:
                self._aborted = threading.Event()
                if self.reason is not None:
                    self._aborted.set()
            return self._aborted

    @property
    def cancelled(self) -> bool:
        """Whether ``aborted`` is set: nobody needs the result any more."""
        return self.reason is not None

    @property
    def log(self) -> TaskLog:
        """A log whose lines have the task and the request id."""
        return TaskLog(self.task, self.id)

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """
        Reports progress to a caller with ``on_progress``, and in the status of a job. The last report is sent about four times a second.

        :param done: units done
        :param total: units in total
        :param message: message for people; at most 200 characters, the rest is cut
        :raises ConfigError: for invalid progress
        """
        self._tell(self._request, self, check_progress(done, total, message))

    @overload
    def call(
        self,
        task: Task[..., R],
        args: Any = ...,
        /,
        *,
        timeout: float | None = None,
        queue: str | None = None,
        **named: Any,
    ) -> R: ...

    @overload
    def call(
        self,
        task: str,
        args: Any = ...,
        /,
        *,
        timeout: float | None = None,
        queue: str | None = None,
        **named: Any,
    ) -> Any: ...

    def call(
        self,
        task: Called,
        args: Any = MISSING,
        /,
        *,
        timeout: float | None = None,
        queue: str | None = None,
        **named: Any,
    ) -> Any:
        """
        Calls another task with the remaining time of this call, in the same trace. Arguments and options are those of ``hub.call``.

        :raises HubError: by the deadline of this call at the latest
        """
        if self._loop_thread == threading.get_ident():
            raise RuntimeError("ctx.call would block all coroutines of this worker: await ctx.acall(...) instead.")
        pending = self._begin(task, args, named, timeout, queue)
        try:
            return pending.result()
        finally:
            self._unbind(pending)

    @overload
    async def acall(
        self,
        task: Task[..., R],
        args: Any = ...,
        /,
        *,
        timeout: float | None = None,
        queue: str | None = None,
        **named: Any,
    ) -> R: ...

    @overload
    async def acall(
        self,
        task: str,
        args: Any = ...,
        /,
        *,
        timeout: float | None = None,
        queue: str | None = None,
        **named: Any,
    ) -> Any: ...

    async def acall(
        self,
        task: Called,
        args: Any = MISSING,
        /,
        *,
        timeout: float | None = None,
        queue: str | None = None,
        **named: Any,
    ) -> Any:
        """The same for coroutines. Cancelling it cancels the nested call."""
        pending = self._begin(task, args, named, timeout, queue)
        try:
            return await asyncio.wrap_future(pending)
        finally:
            self._unbind(pending)

    def _begin(self, task: Called, args: Any, named: dict[str, Any], timeout: float | None, queue: str | None) -> PendingCall[Any]:
        for name in ("traceparent", "tracestate"):
            if args is MISSING and name in named:
                raise TypeError(f"A nested call uses its own trace; to pass an argument named '{name}', use a dict.")
        args = arguments_of(task, args, named, {"timeout": timeout, "queue": queue})
        pending = self._nested_call(self, task, args, timeout, queue)
        self._bind(pending)
        return pending

    def _abort(self, reason: HubError) -> None:
        """Tells the handler to stop."""
        with self._lock:
            if self.reason is not None:
                return
            self.reason = reason
            if self._aborted is not None:
                self._aborted.set()
            bound = list(self._bound)
        for each in bound:
            each.cancel()

    def _bind(self, each: Any) -> None:
        """It is cancelled when this call ends before its time."""
        with self._lock:
            self._bound.add(each)
            is_over = self.reason is not None
        if is_over:
            each.cancel()

    def _unbind(self, pending: Any) -> None:
        with self._lock:
            self._bound.discard(pending)
