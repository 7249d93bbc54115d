"""What is checked before a handler runs and after it, and how its request ends by that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any, NamedTuple

from ..jobs.held_job import is_held_job
from ..queue.job_queue import JobEnd
from ..task.misfit import Misfit
from ..task.task import Task
from ..wire.errors import HubError, ToldError, hub_error, problem_error, told_error, why_keyed
from ..wire.failures import Verdict, failure_of, verdict_of
from ..wire.message import Request
from ..wire.payload import PayloadProblem, decode_payload, encode_payload, exceeds
from .context import Context
from .merged_run import refused_run, run_args
from .yields import Chunks, Stopped, WholeList, drain, drain_async, encoder

#: Opens the stream that a request asks for.
OpenStreamOf = Callable[[Request, Context], Chunks]
#: What a request holds beside its arguments, at the most.
_MAX_ENVELOPE_BYTES = 1024


class Outcome(NamedTuple):
    """How a request ended in this worker: with ``result``, which is JSON already, or with ``error``."""

    result: str = ""
    error: ToldError | None = None
    #: Stays in this process, for its log.
    raised: BaseException | None = None
    #: Of a run that was not started, because one of its payloads is none that its task takes.
    refused: JobEnd | None = None
    #: Of a stream: how many chunks there were.
    chunks: int | None = None


class Handling:
    """On whatever thread a handler is run."""

    def __init__(self, max_payload_bytes: int, open_stream: OpenStreamOf) -> None:
        self._max_payload_bytes = max_payload_bytes
        self._open_stream = open_stream

    def run(self, task: Task[..., Any], request: Request, context: Context) -> Outcome:
        """With a handler that is an ordinary function. Never raises."""
        try:
            refused, args = self._before(task, request)
            if refused is not None:
                return refused
            value = task.run(args, context)
            if type(value) is GeneratorType:
                chunks = self._chunks_of(request, context)
                value = drain(value, context, chunks, encoder(task, self._max_payload_bytes))
                return self._after_chunks(task, request, value, chunks.count)
            if type(value) is CoroutineType:
                # Nobody would await it, and a merged run would pass for done.
                value.close()
                raise TypeError("Its function returned a coroutine; declare it with async def.")
            return self._after(task, request, value)
        except Misfit as misfit:
            return _not_taken(request, misfit)
        except Verdict as verdict:
            return Outcome(error=verdict_of(verdict.error))
        except Stopped as stopped:
            return _stopped(context, stopped)
        except BaseException as raised:
            # Also SystemExit: a handler must not end a thread that serves others.
            return Outcome(error=failure_of(raised), raised=raised)

    async def run_async(self, task: Task[..., Any], request: Request, context: Context) -> Outcome:
        """With one that is a coroutine. Never raises, also when it is cancelled."""
        try:
            refused, args = self._before(task, request)
            if refused is not None:
                return refused
            value = task.run(args, context)
            if type(value) is AsyncGeneratorType:
                chunks = self._chunks_of(request, context)
                value = await drain_async(value, context, chunks, encoder(task, self._max_payload_bytes))
                return self._after_chunks(task, request, value, chunks.count)
            return self._after(task, request, await value)
        except asyncio.CancelledError as raised:
            # What it waited for may have been cancelled by others.
            return Outcome(error=failure_of(raised), raised=raised) if context.reason is None else given_up(context.reason)
        except Misfit as misfit:
            return _not_taken(request, misfit)
        except Verdict as verdict:
            return Outcome(error=verdict_of(verdict.error))
        except Stopped as stopped:
            return _stopped(context, stopped)
        except BaseException as raised:
            return Outcome(error=failure_of(raised), raised=raised)

    def _chunks_of(self, request: Request, context: Context) -> Chunks:
        """Where what its handler yields goes."""
        if request.hub_id is not None and request.asked is not None and request.asked.window:
            return self._open_stream(request, context)
        return WholeList(request.task, self._max_payload_bytes)

    def _after_chunks(self, task: Task[..., Any], request: Request, value: Any, chunks: int | None) -> Outcome:
        # Its chunks were its result: there is nothing that a schema could say of it.
        outcome = Outcome("null") if chunks is not None and value is None else self._after(task, request, value)
        return outcome._replace(chunks=chunks)

    def _before(self, task: Task[..., Any], request: Request) -> tuple[Outcome | None, Any]:
        """How it ends without being run, or else what its handler is given."""
        if task.keyed and not is_held_job(request.held_id):
            return Outcome(error=verdict_of(hub_error("InvalidArgs", why_keyed(request.task)))), None
        if task.keyed == "merged":
            return self._before_merged(task, request)
        if "run" in (request.job or {}):
            message = f"{request.task} is no longer declared as merged, but these jobs were."
            return Outcome(error=verdict_of(hub_error("InvalidArgs", message))), None
        if exceeds(request.text, self._max_payload_bytes + _MAX_ENVELOPE_BYTES):
            message = f"The arguments of {request.task} are larger than {self._max_payload_bytes} bytes."
            return Outcome(error=verdict_of(hub_error("PayloadTooLarge", message))), None
        problems = task.check_args(request.args) if task.check_args else None
        if problems:
            return Outcome(error=verdict_of(problem_error("InvalidArgs", problems, request.task))), None
        return None, request.args

    def _before_merged(self, task: Task[..., Any], request: Request) -> tuple[Outcome | None, Any]:
        brought = run_args(request)
        if brought is None:
            return Outcome(error=verdict_of(hub_error("InvalidArgs", why_keyed(request.task)))), None
        refused = refused_run(request, task, brought) if "run" in (request.job or {}) else None
        if refused is not None:
            message = "a payload does not match the arguments of the task"
            return Outcome(error=told_error("InvalidArgs", message), refused=refused), None
        return None, brought

    def _after(self, task: Task[..., Any], request: Request, value: Any) -> Outcome:
        if task.keyed == "merged":
            # Nobody is told what it returned, so that may be anything.
            return Outcome("null")
        try:
            text = encode_payload(value)
        except PayloadProblem as problem:
            return Outcome(error=verdict_of(problem_error("InvalidResult", [problem.problem], request.task)))
        if exceeds(text, self._max_payload_bytes):
            message = f"The result of {request.task} is larger than {self._max_payload_bytes} bytes."
            return Outcome(error=verdict_of(hub_error("InvalidResult", message)))
        if task.check_result and task.check_result(value):
            # As in the hub, what counts is what travels.
            problems = task.check_result(decode_payload(text))
            if problems:
                return Outcome(error=verdict_of(problem_error("InvalidResult", problems, request.task)))
        return Outcome(text)


def _not_taken(request: Request, misfit: Misfit) -> Outcome:
    """Of a request whose arguments fit the schema, and make no instance of what the hints name."""
    return Outcome(error=verdict_of(problem_error("InvalidArgs", misfit.problems, request.task)))


def _stopped(context: Context, stopped: Stopped) -> Outcome:
    return given_up(context.reason) if context.reason is not None else Outcome(error=failure_of(stopped), raised=stopped)


def given_up(reason: HubError) -> Outcome:
    """Of a request whose handler did not come to its end."""
    return Outcome(error=told_error(reason.code, reason.message))
