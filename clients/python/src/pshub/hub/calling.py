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

        :param task: ``name:1.0``, ``name:1`` or ``name``; or what ``@task`` made: then the result is what its function's hint says
        :param args: any JSON value, as a rule a dict of arguments; or give these by name, where none is named as an option of the call is
        :param timeout: seconds; default: the task's own, 5 s unless it says otherwise
        :param queue: only workers of this queue count; default: the queue that had the task first, while it has live workers, else
            another one
        :param traceparent: W3C trace context to pass on
        :param tracestate: goes along with it
        :param on_progress: is told how far the handler is, as ``Progress``, some four times a second at the most; on the hub's own thread
        :raises HubError: by its deadline at the latest; the class says what happened, ``ran`` whether calling again is safe
        """
        options = CallOptions(timeout, queue, traceparent, tracestate, on_progress)
        return self._call(task, arguments_of(task, args, named, options._asdict()), options)

    def _call(self, task: Called, args: Any, options: CallOptions) -> Any:
        raise NotImplementedError
