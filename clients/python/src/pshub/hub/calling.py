"""The call that every hub has which waits for results."""

from __future__ import annotations

from typing import Any, overload

from ..task.task import R, Task
from ..wire.streams import OnProgress
from .arguments import MISSING, Called, CallOptions, arguments_of


class Calling:
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
        on_progress: OnProgress | None = None,
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
        on_progress: OnProgress | None = None,
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
        on_progress: OnProgress | None = None,
        **named: Any,
    ) -> Any:
        """
        Calls a task and waits for its result.

        :param task: ``name:1.0``, ``name:1`` or ``name``; or a task made by ``@task``, which gives the result the type of its function's
          hint
        :param args: a JSON value, usually a dict of arguments; or pass them as keyword arguments, unless one is named like an option of
          the call
        :param timeout: seconds; default: the timeout of the task, 5 s unless it declares another
        :param queue: call only workers of this queue; default: the first queue of the task while it has live workers, otherwise another
          one
        :param traceparent: W3C trace context to pass on
        :param tracestate: sent along with it
        :param on_progress: receives the ``Progress`` of the handler, at most about four times a second, on the hub's own thread
        :raises HubError: by the deadline at the latest; the class says what happened, ``ran`` whether it is safe to repeat the call
        """
        options = CallOptions(timeout, queue, traceparent, tracestate, on_progress)
        return self._call(task, arguments_of(task, args, named, options._asdict()), options)

    def _call(self, task: Called, args: Any, options: CallOptions) -> Any:
        raise NotImplementedError
