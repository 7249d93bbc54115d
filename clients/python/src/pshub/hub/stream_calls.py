"""Streams of a hub, for threads that wait and for asyncio."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any, Generic, TypeVar

from ..wire.clock import now_s
from ..wire.errors import HubError
from ..wire.streams import OnProgress
from .arguments import MISSING, Called, CallOptions, arguments_of, name_of, wrong_call
from .call import Outgoing
from .dispatch import Dispatch
from .stream_readers import AsyncHubStream, HubStream, wrong_idle

S = TypeVar("S", HubStream[Any], AsyncHubStream[Any])


class StreamCalls(Generic[S]):
    _is_closed: bool

    def _reader_of(self, called: str, idle: float | None, on_progress: OnProgress | None) -> S:
        """What a stream is read with."""
        raise NotImplementedError

    def _begun(self) -> tuple[Callable[..., None], Dispatch]:
        """What tells the hub's own thread to do something, and what runs there."""
        raise NotImplementedError

    def stream(
        self,
        task: Called,
        args: Any = MISSING,
        /,
        *,
        timeout: float | None = None,
        idle: float | None = None,
        queue: str | None = None,
        traceparent: str | None = None,
        tracestate: str | None = None,
        on_progress: OnProgress | None = None,
        **named: Any,
    ) -> S:
        """
        Calls a task and reads its chunks as the handler yields them: ``for chunk in hub.stream("chat:1.0", args)``, with an AsyncHub
        ``async for``. The request is sent at once. Leaving the loop cancels the handler; reading slowly slows the handler down. If the
        handler does not yield, the stream ends without a chunk.

        :param task: as for ``call``, like ``args``, ``queue``, ``traceparent`` and ``tracestate``
        :param timeout: seconds for the whole stream; default: the timeout of the task
        :param idle: maximum seconds to wait for the next chunk or progress report; default: until ``timeout``
        :param on_progress: receives the ``Progress`` of the handler, on the hub's own thread
        """
        options = CallOptions(timeout, queue, traceparent, tracestate, on_progress)
        args = arguments_of(task, args, named, {**options._asdict(), "idle": idle})
        called = name_of(task)
        wrong = wrong_call(called, options, self._is_closed) or wrong_idle(called, idle)
        reader = self._reader_of(called, idle, on_progress)
        if wrong is not None:
            reader._state.end(None, wrong)
            if not self._is_closed:
                post, dispatch = self._begun()
                post(dispatch.rejected, copy_context(), called, None, wrong, now_s())
            return reader
        post, dispatch = self._begun()
        reader._post, reader._streams = post, dispatch.streams
        post(_begin, dispatch, reader, called, args, options, copy_context())
        return reader


def _begin(dispatch: Dispatch, reader: HubStream[Any] | AsyncHubStream[Any], called: str, args: Any, options: CallOptions, context: Context) -> None:
    state, streams = reader._state, dispatch.streams

    def settled(value: Any, error: HubError | None) -> None:
        streams.settled(state, value, error)

    out = Outgoing(called, args, options, settled, context)
    out.asked = state.asked
    out.on_part = lambda part: streams.hear(state, part)
    streams.open(state, out)
    dispatch.begin(out)
