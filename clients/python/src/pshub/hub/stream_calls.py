"""Streams of a hub, for threads that wait and for asyncio."""

from __future__ import annotations

from typing import Any

from ..wire.errors import HubError
from .arguments import MISSING, Called, arguments_of, name_of, wrong_call
from .call import Outgoing
from .dispatch import Dispatch
from .loop import LoopThread
from .stream_readers import AsyncHubStream, HubStream, wrong_stream
from .streams import OnProgress


def _outgoing(reader: Any, dispatch: Dispatch, called: Any, args: Any, timeout: float | None, trace: Any, queue: Any) -> Outgoing:
    state = reader._state
    traceparent, tracestate = trace

    def settled(value: Any, error: HubError | None) -> None:
        dispatch.streams.settled(state, value, error)

    out = Outgoing(called, args, timeout, traceparent, settled, tracestate, queue)
    out.asked = state.asked
    out.on_part = lambda part: dispatch.streams.hear(state, part)
    return out


def _begin(dispatch: Dispatch, reader: Any, out: Outgoing) -> None:
    dispatch.streams.open(reader._state, out)
    dispatch.begin(out)


class StreamCalls:
    _is_closed: bool

    def _started(self) -> tuple[LoopThread, Dispatch]:
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
    ) -> HubStream:
        """
        Calls a task and reads what its handler yields, as it comes: ``for chunk in hub.stream("chat:1.0", args)``. It is sent at once. A
        loop that is left tells the handler to stop; one that reads slowly makes it wait. Of a task that does not yield there is no chunk,
        only the end.

        :param task: as of ``call``; and so are ``args``, ``queue``, ``traceparent`` and ``tracestate``
        :param timeout: seconds for all of it; default: the task's own
        :param idle: so many seconds a read waits for the next chunk at the most, or for a word of progress; default: until ``timeout``
        :param on_progress: told how far the handler is, as ``Progress``; on the hub's own thread
        """
        given = {
            "timeout": timeout, "idle": idle, "queue": queue, "traceparent": traceparent, "tracestate": tracestate,
            "on_progress": on_progress,
        }  # fmt: skip
        args = arguments_of(task, args, named, given)
        called = name_of(task)
        reader = HubStream(called, idle, on_progress)
        wrong = wrong_call(called, timeout, queue, self._is_closed) or wrong_stream(called, idle, on_progress)
        if wrong is not None:
            reader._state.end(None, wrong)
            return reader
        thread, dispatch = self._started()
        reader._post, reader._streams = thread.post, dispatch.streams
        out = _outgoing(reader, dispatch, called, args, timeout, (traceparent, tracestate), queue)
        thread.post(_begin, dispatch, reader, out)
        return reader


class AsyncStreamCalls:
    _is_closed: bool

    def _begun(self) -> Dispatch:
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
    ) -> AsyncHubStream:
        """As of Hub: ``async for chunk in hub.stream("chat:1.0", args)``."""
        given = {
            "timeout": timeout, "idle": idle, "queue": queue, "traceparent": traceparent, "tracestate": tracestate,
            "on_progress": on_progress,
        }  # fmt: skip
        args = arguments_of(task, args, named, given)
        called = name_of(task)
        reader = AsyncHubStream(called, idle, on_progress)
        wrong = wrong_call(called, timeout, queue, self._is_closed) or wrong_stream(called, idle, on_progress)
        if wrong is not None:
            reader._state.end(None, wrong)
            return reader
        dispatch = self._begun()
        reader._post, reader._streams = _at_once, dispatch.streams
        out = _outgoing(reader, dispatch, called, args, timeout, (traceparent, tracestate), queue)
        _begin(dispatch, reader, out)
        return reader


def _at_once(act: Any, *arguments: Any) -> None:
    act(*arguments)
