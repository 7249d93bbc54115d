"""What a handler yields, on its way to its caller."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, Protocol

from ..task.task import Task
from ..wire.clock import now_s
from ..wire.errors import hub_error, problem_error
from ..wire.failures import Verdict
from ..wire.payload import PayloadProblem, decode_payload, encode_payload, exceeds
from .context import Context


class Stopped(Exception):
    """The run was told to stop, and asks its handler for nothing more."""


class Chunks(Protocol):
    """Where what a run yields goes. All is called on the thread of the handler."""

    #: Of a stream: how many there were.
    count: int | None

    def put(self, text: str) -> None:
        """Takes one, as JSON."""

    def wait(self) -> None:
        """Returns when a next one may come, or when the run is to stop."""

    async def await_room(self) -> None:
        """The same of a coroutine."""

    def end(self) -> None:
        """All that were put are where they belong, or nobody wants them."""

    async def await_end(self) -> None: ...

    def result(self, returned: Any) -> Any:
        """The result of the run, whose handler returned this."""


#: A coroutine that waits for nothing keeps all others from running for so long.
_TURN_S = 0.01


class WholeList:
    """Of a run whose caller asked for no stream, or that is a job: the list of it all, unless the handler returns something."""

    count: int | None = None

    def __init__(self, task: str, max_bytes: int) -> None:
        self._task = task
        self._max_bytes = self._left = max_bytes
        self._texts: list[str] = []
        self._turn_at = now_s()

    def put(self, text: str) -> None:
        self._left -= len(text) + 1
        # It may return something in its place: that is known at the end.
        if self._left < 0:
            self._texts = []
        else:
            self._texts.append(text)

    def wait(self) -> None:
        pass

    async def await_room(self) -> None:
        if now_s() - self._turn_at >= _TURN_S:
            await asyncio.sleep(0)
            self._turn_at = now_s()

    def end(self) -> None:
        pass

    async def await_end(self) -> None:
        pass

    def result(self, returned: Any) -> Any:
        if returned is not None:
            return returned
        if self._left < 0:
            message = f"The result of {self._task} is larger than {self._max_bytes} bytes."
            raise Verdict(hub_error("InvalidResult", message))
        return json.loads(f"[{','.join(self._texts)}]")


def encoder(task: Task[..., Any], max_bytes: int) -> Callable[[Any], str]:
    """What makes a chunk of a value; it raises Verdict for what cannot be one, or is none that its task declares."""
    name = task.name.full

    def encode(value: Any) -> str:
        try:
            text = encode_payload(value)
        except PayloadProblem as problem:
            raise Verdict(problem_error("InvalidResult", [problem.problem], name)) from None
        if exceeds(text, max_bytes):
            raise Verdict(hub_error("InvalidResult", f"A chunk of {name} is larger than {max_bytes} bytes."))
        if task.check_chunk and task.check_chunk(value):
            # What counts is what travels.
            problems = task.check_chunk(decode_payload(text))
            if problems:
                raise Verdict(problem_error("InvalidResult", problems, name))
        return text

    return encode


def drain(source: Generator[Any, None, Any], context: Context, chunks: Chunks, encode: Callable[[Any], str]) -> Any:
    """Reads all that a handler yields. Raises what it raises, and Stopped."""
    try:
        while True:
            try:
                value = next(source)
            except StopIteration as stop:
                chunks.end()
                return chunks.result(stop.value)
            _go_on(context)
            chunks.put(encode(value))
            chunks.wait()
            _go_on(context)
    except BaseException:
        # What it does in its `finally` concerns nobody any more.
        try:
            source.close()
        except BaseException:
            pass
        chunks.end()
        raise


async def drain_async(source: AsyncGenerator[Any, None], context: Context, chunks: Chunks, encode: Callable[[Any], str]) -> Any:
    try:
        async for value in source:
            _go_on(context)
            chunks.put(encode(value))
            await chunks.await_room()
            _go_on(context)
        await chunks.await_end()
        return chunks.result(None)
    except BaseException:
        try:
            await source.aclose()
        except BaseException:
            pass
        await chunks.await_end()
        raise


def _go_on(context: Context) -> None:
    if context.reason is not None:
        raise Stopped
