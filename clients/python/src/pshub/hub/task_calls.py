"""Calls of a hub for threads that wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from ..settings.table import Settings
from ..task.task import R, Task
from ..wire.errors import HubError
from .arguments import MISSING, Called, arguments_of, name_of, reader_of, wrong_call
from .call import Outgoing
from .dispatch import Dispatch
from .gather import Outcome, entries_of
from .loop import LoopThread
from .pending import PendingCall


class TaskCalls:
    _settings: Settings
    _is_closed: bool
    _thread: LoopThread | None
    _dispatch: Dispatch | None

    def _started(self) -> tuple[LoopThread, Dispatch]:
        """The hub's own thread, and what runs on it."""
        raise NotImplementedError

    @overload
    def call(
        self,
        task: Task[..., R],
        args: Any = ...,
        /,
        *,
        timeout: float | None = None,
        queue: str | None = None,
        traceparent: str | None = None,
        tracestate: str | None = None,
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
        traceparent: str | None = None,
        tracestate: str | None = None,
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
        traceparent: str | None = None,
        tracestate: str | None = None,
        **named: Any,
    ) -> Any:
        """
        Calls a task and waits for its result.

        :param task: ``name:1.0``, ``name:1`` or ``name``; or what ``@task`` made: then the result is what its function's hint says
        :param args: any JSON value, as a rule a dict of arguments; or give these by name, where none is named as an option of the call is
        :param timeout: seconds; default: the task's own, 5 s unless it says otherwise
        :param queue: only workers of this queue count; default: the queue that had the task first, while it has live workers, else
            another one
        :param traceparent: W3C trace context to pass on
        :param tracestate: goes along with it
        :raises HubError: by its deadline at the latest; the class says what happened, ``ran`` whether calling again is safe
        """
        return self.submit(task, args, timeout=timeout, queue=queue, traceparent=traceparent, tracestate=tracestate, **named).result()

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
        **named: Any,
    ) -> PendingCall[Any]:
        """
        The same without waiting: what it returns is a ``concurrent.futures.Future``, whose ``cancel()`` gives the call up. Raises only
        TypeError.
        """
        given = {"timeout": timeout, "queue": queue, "traceparent": traceparent, "tracestate": tracestate}
        args = arguments_of(task, args, named, given)
        called = name_of(task)
        wrong = wrong_call(called, timeout, queue, self._is_closed)
        if wrong is not None:
            pending: PendingCall[Any] = PendingCall(None, None)
            pending._settle(None, wrong)
            self._note(called, None, wrong)
            return pending
        thread, dispatch = self._started()
        pending = PendingCall(thread, dispatch, reader_of(task))
        out = pending.out = Outgoing(called, args, timeout, traceparent, pending._settle, tracestate, queue)
        route = dispatch.routes.known(called, queue)
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
        Makes many calls at once and waits until each has ended; one that fails spoils none.

        :param calls: by names of your own: ``(task, args)``, ``(task, args, timeout)``, ``(task, args, timeout, queue)`` or a task;
            or give them by name
        :param timeout: for those that name none of their own
        :param queue: the same
        """
        pending = {}
        for key, entry in entries_of(calls, named).items():
            pending[key] = self.submit(entry.called, entry.args, **entry.options(timeout, queue))
        return {key: each.outcome() for key, each in pending.items()}

    def _note(self, task: Any, queue: str | None, error: HubError) -> None:
        """Tells of a call that ended on its caller's thread."""
        thread, dispatch = self._thread, self._dispatch
        if thread is not None and dispatch is not None:
            thread.post(dispatch.refusals.note, task, queue, error)
