"""Calls of a hub for threads that wait."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import copy_context
from typing import Any, overload

from ..settings.table import Settings
from ..task.task import R, Task
from ..wire.clock import now_s
from ..wire.errors import HubError
from ..wire.streams import OnProgress
from .arguments import MISSING, Called, CallOptions, arguments_of, name_of, reader_of, wrong_call
from .call import Outgoing
from .calling import Calling
from .dispatch import Dispatch
from .gather import Outcome, entries_of
from .loop import LoopThread
from .pending import PendingCall
from .progress import listen


class TaskCalls(Calling):
    _settings: Settings
    _is_closed: bool
    _thread: LoopThread | None
    _dispatch: Dispatch | None

    def _started(self) -> tuple[LoopThread, Dispatch]:
        """The hub's own thread, and what runs on it."""
        raise NotImplementedError

    def _call(self, task: Called, args: Any, options: CallOptions) -> Any:
        return self._submit(task, args, options).result()

    @overload
    def submit(
        self,
        task: Task[..., R],
        args: Any = ...,
        /,
        *,
        timeout: float | None = None,
        queue: str | None = None,
        traceparent: str | None = None,
        tracestate: str | None = None,
        on_progress: OnProgress | None = None,
        **named: Any,
    ) -> PendingCall[R]: ...

    @overload
    def submit(
        self,
        task: str,
        args: Any = ...,
        /,
        *,
        timeout: float | None = None,
        queue: str | None = None,
        traceparent: str | None = None,
        tracestate: str | None = None,
        on_progress: OnProgress | None = None,
        **named: Any,
    ) -> PendingCall[Any]: ...

    def submit(
        self,
        task: Called,
        args: Any = MISSING,
        /,
        *,
        timeout: float | None = None,
        queue: str | None = None,
        traceparent: str | None = None,
        tracestate: str | None = None,
        on_progress: OnProgress | None = None,
        **named: Any,
    ) -> PendingCall[Any]:
        """``call`` without waiting: it returns a ``concurrent.futures.Future``, whose ``cancel()`` cancels the call. Raises only TypeError."""
        options = CallOptions(timeout, queue, traceparent, tracestate, on_progress)
        return self._submit(task, arguments_of(task, args, named, options._asdict()), options)

    def _submit(self, task: Called, args: Any, options: CallOptions) -> PendingCall[Any]:
        called = name_of(task)
        wrong = wrong_call(called, options, self._is_closed)
        if wrong is not None:
            pending: PendingCall[Any] = PendingCall(None, None)
            pending._settle(None, wrong)
            self._note(called, None, wrong)
            return pending
        thread, dispatch = self._started()
        pending = PendingCall(thread, dispatch, reader_of(task))
        out = pending.out = Outgoing(called, args, options, pending._settle)
        listen(out, options.on_progress, dispatch.events)
        route = dispatch.routes.known(called, options.queue)
        if route is not None:
            try:
                # Here and not on the hub's thread: encoding and checking is work.
                out.routed(route, self._settings.max_payload_bytes)
            except HubError as error:
                out.settle(None, error)
                self._note(route.task, route.queue, error)
                return pending
        thread.post(dispatch.begin, out)
        return pending

    def gather(
        self,
        calls: Mapping[str, Any] | None = None,
        /,
        *,
        timeout: float | None = None,
        queue: str | None = None,
        **named: Any,
    ) -> dict[str, Outcome]:
        """
        Makes many calls at once and waits until each has ended; a failed call does not affect the others.

        :param calls: calls by names of your choice: ``(task, args)``, ``(task, args, timeout)``, ``(task, args, timeout, queue)`` or a
          task; or pass them as keyword arguments
        :param timeout: timeout of entries without their own
        :param queue: queue of entries without their own
        """
        pending = {}
        for key, entry in entries_of(calls, named).items():
            pending[key] = self.submit(entry.called, entry.args, **entry.options(timeout, queue))
        return {key: each.outcome() for key, each in pending.items()}

    def _note(self, task: Any, queue: str | None, error: HubError) -> None:
        """Tells of a call that ended on its caller's thread."""
        if not self._is_closed:
            thread, dispatch = self._started()
            thread.post(dispatch.rejected, copy_context(), task, queue, error, now_s())
