"""What becomes of a job that a worker ran, or could not run. PROTOCOL.md, section 10.11."""

from __future__ import annotations

from typing import Any, Optional

from ..queue.job_queue import JobEnd
from ..task.task import Task, TaskBackoff
from ..wire.errors import TaskError, ToldError
from ..wire.foreign import is_amount
from ..wire.job_part import JobPart, failure_text
from ..wire.message import Request
from ..wire.payload import compact
from .backoff import DEFAULT_RETRIES, delay_after, rounded
from .chain import following_of

#: A job with such a failure would fail again however often it were tried.
_HOPELESS = ("InvalidArgs", "PayloadTooLarge", "NoSuchTask", "NoWorkers")


def done_end(request: Request, result: str, queue: str) -> Optional[JobEnd]:
    """Of a job that ran well, with its result as JSON; None when nothing is left to do but to forget it."""
    job = request.job or {}
    # For the end of one with a key the next one of its key waits.
    if request.then is None and not any(name in job for name in ("keep", "unique", "batch", "key")):
        return None
    return JobEnd(request.held_id, "done", 0, result, following_of(request, result, queue))


def failed_end(request: Request, task: Optional[Task[Any]], error: ToldError, raised: Optional[BaseException]) -> JobEnd:
    """Of a job that failed: another try, if it may have one, or none any more. ``raised`` is what its handler raised."""
    job: JobPart = request.job or {}
    text = failure_text(error.own or error.code, error.message, error.status)
    failures = job.get("tries", 0) + 1
    retries = job.get("retries")
    if retries is None:
        retries = task.retries if task and task.retries is not None else DEFAULT_RETRIES
    is_final = error.code in _HOPELESS or (isinstance(raised, TaskError) and raised.is_final)
    delay_ms = None
    if not is_final and failures <= retries:
        backoff = job.get("backoff")
        delay_ms = _delay_of(task.backoff if task and backoff is None else backoff, raised, failures)
    if delay_ms is None:
        return JobEnd(request.held_id, "dead", 0, text)
    passes = "key" in job and task is not None and task.on_failure == "pass"
    return JobEnd(request.held_id, "pass" if passes else "retry", delay_ms, text)


def unrun(held_id: str, outcome: str) -> JobEnd:
    """The end of a job that was not run, or not to its end: ``expired`` or ``cancelled``."""
    return JobEnd(held_id, outcome)


def _delay_of(backoff: Optional[TaskBackoff], raised: Optional[BaseException], failures: int) -> Optional[int]:
    """None: not again."""
    if backoff is None:
        return delay_after("exponential", failures)
    if not callable(backoff):
        return delay_after(backoff, failures)
    try:
        ms = backoff(raised, failures)
        if ms is None:
            return None
        if is_amount(ms):
            return rounded(ms)
    except Exception:
        # A job must not be lost by it.
        pass
    return delay_after("exponential", failures)


def answer_of(end: JobEnd, ticket: str, worker: str) -> str:
    """What somebody is told who waits for a job that ended so."""
    said = f'"ok":true,"result":{end.text}' if end.outcome == "done" else f'"ok":false,"error":{_error_of(end)}'
    return f'{{"id":"{ticket}",{said},"worker":"{worker}"}}'


def _error_of(end: JobEnd) -> str:
    if end.outcome == "dead":
        return f"{{{end.text}}}"
    if end.outcome == "cancelled":
        return compact({"code": "Aborted", "message": "The job was cancelled."})
    return compact({"code": "Expired", "message": "The job was not run in time."})
