"""The caller's object for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Any, overload

from ..figures.events import Events
from ..outlets.log import log_events
from ..outlets.statsd import send_metrics
from ..queue.pause import check_queue_name
from ..redis.target import RedisTarget
from ..settings.read import read_settings
from ..task.task import R, Task
from ..wire.clock import now_s
from ..wire.errors import HubClosed, HubError
from ..wire.streams import OnProgress
from .arguments import MISSING, Called, CallOptions, arguments_of, name_of, reader_of, wrong_call
from .call import Outgoing
from .dispatch import Dispatch
from .dispatches import Dispatches
from .gather import Entry, Outcome, entries_of
from .job_calls import AsyncJobCalls
from .named_tasks import AsyncNamedTask, NamedTasks
from .progress import listen
from .stream_calls import StreamCalls
from .stream_readers import AsyncHubStream


class AsyncHub(StreamCalls[AsyncHubStream[Any]], AsyncJobCalls):
    """
    The hub for asyncio, without a thread. You can use one hub on several event loops and threads: on each it has two connections of its
    own, and connections of an ended loop are closed at its next use. Cancelling a task that awaits a call cancels the call. Its
    parameters are those of Hub.
    """

    def __init__(
        self,
        redis: RedisTarget | None = None,
        *,
        namespace: str | None = None,
        name: str | None = None,
        max_payload_bytes: int | None = None,
        max_backlog: int | None = None,
        statsd: str | None = None,
    ) -> None:
        options = {
            "redis": redis, "namespace": namespace, "name": name, "max_payload_bytes": max_payload_bytes,
            "max_backlog": max_backlog, "statsd": statsd,
        }  # fmt: skip
        self._settings = read_settings("hub", options)
        self.events = Events()
        log_events(self.events)
        self._statsd = send_metrics(self.events, self._settings.statsd, self._settings.name)
        self._dispatches = Dispatches(self._settings, self.events, self._forked)
        self._is_closed = False

    @property
    def tasks(self) -> Any:
        """As of Hub."""
        return NamedTasks(self, AsyncNamedTask)

    @overload
    async def call(
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
    async def call(
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

    async def call(
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
        """As of Hub."""
        options = CallOptions(timeout, queue, traceparent, tracestate, on_progress)
        return await self._call(task, arguments_of(task, args, named, options._asdict()), options)

    async def _call(self, task: Called, args: Any, options: CallOptions) -> Any:
        called = name_of(task)
        wrong = wrong_call(called, options, self._is_closed)
        if wrong is not None:
            if not self._is_closed:
                self._started().rejected(copy_context(), called, None, wrong, now_s())
            raise wrong
        dispatch = self._started()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def settle(value: Any, error: HubError | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(value)

        out = Outgoing(called, args, options, settle)
        listen(out, options.on_progress, self.events)
        dispatch.begin(out)
        try:
            value = await future
        except asyncio.CancelledError:
            dispatch.cancel(out)
            raise
        read = reader_of(task)
        return value if read is None else read(value)

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
    ) -> asyncio.Task[R]: ...

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
    ) -> asyncio.Task[Any]: ...

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
    ) -> asyncio.Task[Any]:
        """``call`` without waiting: it is made in the next turn of the loop. Await what it returns, or ``cancel()`` it."""
        options = CallOptions(timeout, queue, traceparent, tracestate, on_progress)
        call = self._call(task, arguments_of(task, args, named, options._asdict()), options)
        return asyncio.get_running_loop().create_task(call)

    async def gather(
        self,
        calls: Mapping[str, Any] | None = None,
        /,
        *,
        timeout: float | None = None,
        queue: str | None = None,
        **named: Any,
    ) -> dict[str, Outcome]:
        """As of Hub."""

        async def one(entry: Entry) -> Outcome:
            started_at = now_s()
            try:
                value = await self.call(entry.called, entry.args, **entry.options(timeout, queue))
                return Outcome(True, value, None, (now_s() - started_at) * 1000)
            except HubError as error:
                return Outcome(False, None, error, (now_s() - started_at) * 1000)

        entries = entries_of(calls, named)
        outcomes = await asyncio.gather(*(one(entry) for entry in entries.values()))
        return dict(zip(entries, outcomes))

    async def pause(self, queue: str) -> int:
        """As of Hub."""
        check_queue_name(queue)
        return await self._asked().pause(queue)

    async def resume(self, queue: str) -> bool:
        """As of Hub."""
        check_queue_name(queue)
        return await self._asked().resume(queue)

    def _asked(self) -> Dispatch:
        if self._is_closed:
            raise HubClosed("This hub was closed; make a new one.")
        return self._started()

    async def close(self) -> None:
        """Like ``Hub.close``, on all event loops: calls in flight on others end too."""
        self._is_closed = True
        await self._dispatches.close()
        if self._statsd is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._statsd.close)

    async def __aenter__(self) -> AsyncHub:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    def _reader_of(self, called: str, idle: float | None, on_progress: OnProgress | None) -> AsyncHubStream[Any]:
        return AsyncHubStream(called, idle, on_progress)

    def _begun(self) -> tuple[Callable[..., None], Dispatch]:
        return _at_once, self._started()

    def _forked(self) -> None:
        if self._statsd is not None:
            self._statsd.forked()

    def _started(self) -> Dispatch:
        return self._dispatches.here()


def _at_once(act: Any, *arguments: Any) -> None:
    act(*arguments)
