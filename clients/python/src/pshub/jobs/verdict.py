"""What becomes of a job that a worker ran, or could not run. PROTOCOL.md, section 10.11."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..queue.job_queue import JobEnd
from ..task.options import TaskBackoff
from ..task.task import Task
from ..wire.errors import PutOff, TaskError, ToldError
from ..wire.foreign import is_amount
from ..wire.job_part import JobPart, RunKey, failure_text
from ..wire.message import Request
from ..wire.payload import compact
from .backoff import DEFAULT_RETRIES, delay_after, rounded
from .chain import following_of

#: A job with such a failure would fail again however often it were tried.
_HOPELESS = ("InvalidArgs", "PayloadTooLarge")
#: It never began, whatever its own retries are: its worker may be restarting, or be deployed in a minute.
_UNBEGUN = ("NoSuchTask", "NoWorkers")


def done_end(request: Request, result: str, queue: str) -> JobEnd | None:
    """Of a job that ran well, with its result as JSON; None when nothing is left to do but to forget it."""
    job = request.job or {}
    if "run" in job:
        return JobEnd(request.held_id, "done")
    # For the end of one with a key the next one of its key waits.
    if request.then is None and not any(name in job for name in ("keep", "unique", "batch", "key")):
        return None
    return JobEnd(request.held_id, "done", 0, result, following_of(request, result, queue))


def failed_end(request: Request, task: Task[..., Any] | None, error: ToldError, raised: BaseException | None) -> JobEnd:
    """Of a job that failed: another try, if it may have one, or none any more. ``raised`` is what its handler raised."""
    job: JobPart = request.job or {}
    text = failure_text(error.code, error.message, error.status)
    is_final = error.code in _HOPELESS or (isinstance(raised, TaskError) and raised.is_final)
    if "run" in job:
        words = tuple(_word_of(key, task, raised, is_final) for key in job["run"])
        return JobEnd(request.held_id, "retry", 0, text, words=words)
    if isinstance(raised, PutOff):
        return JobEnd(request.held_id, "putoff", rounded(raised.delay_ms))
    failures = job.get("tries", 0) + 1
    if error.code in _UNBEGUN and failures <= DEFAULT_RETRIES:
        return JobEnd(request.held_id, "retry", delay_after("exponential", failures), text)
    retries = job.get("retries")
    if retries is None:
        retries = _retries_of(task)
    delay_ms = None
    if not is_final and failures <= retries:
        backoff = job.get("backoff")
        delay_ms = _delay_of(task.backoff if task and backoff is None else backoff, raised, failures)
    if delay_ms is None:
        return JobEnd(request.held_id, "dead", 0, text)
    passes = "key" in job and task is not None and task.on_failure == "pass"
    return JobEnd(request.held_id, "pass" if passes else "retry", delay_ms, text)


def _word_of(key: RunKey, task: Task[..., Any] | None, raised: BaseException | None, is_final: bool) -> str:
    """What becomes of a key of a run of merged jobs that failed: as often as that key did."""
    if isinstance(raised, PutOff):
        return f"b{rounded(raised.delay_ms)}"
    if is_final or key.tries + 1 > _retries_of(task):
        return "d1"
    backoff = task.backoff if task else None
    delay_ms = _delay_of("polynomial" if backoff is None else backoff, raised, key.tries + 1)
    return "d1" if delay_ms is None else f"r{delay_ms}"


def _retries_of(task: Task[..., Any] | None) -> int:
    return task.retries if task and task.retries is not None else DEFAULT_RETRIES


class Fate(NamedTuple):
    """What became of a job that did not end well, or of a key of a run."""

    #: As the event that tells of it: ``job:retried``, ``job:dead`` or ``job:putoff``.
    event: str
    delay_ms: int
    #: How often it had failed before.
    tries: int


_EVENTS = {"retry": "job:retried", "pass": "job:retried", "dead": "job:dead", "putoff": "job:putoff"}
_EVENTS_OF_WORDS = {"r": "job:retried", "d": "job:dead", "x": "job:dead", "b": "job:putoff"}


def fates_of(request: Request, end: JobEnd) -> list[Fate]:
    """One, or one for each key of a run; none of what was not run, or not to its end."""
    job: JobPart = request.job or {}
    if end.words is None:
        return [Fate(_EVENTS[end.outcome], end.delay_ms, job.get("tries", 0))] if end.outcome in _EVENTS else []
    keys: Sequence[RunKey] = job.get("run", [])
    return [Fate(_EVENTS_OF_WORDS[word[0]], int(word[1:]), key.tries) for word, key in zip(end.words, keys)]


def is_put_off(end: JobEnd | None) -> bool:
    """Whether nothing of it counts as a try."""
    if end is None or end.words is None:
        return end is not None and end.outcome == "putoff"
    return all(word.startswith("b") for word in end.words)


def unrun(held_id: str, outcome: str) -> JobEnd:
    """The end of a job that was not run, or not to its end: ``expired`` or ``cancelled``."""
    return JobEnd(held_id, outcome)


def _delay_of(backoff: TaskBackoff | None, raised: BaseException | None, failures: int) -> int | None:
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


def comes_back(end: JobEnd) -> bool:
    """Whether it is to be run again."""
    return end.outcome in ("retry", "pass", "putoff")


def answer_of(end: JobEnd, ticket: str, worker: str) -> str:
    """What somebody is told who waits for a job that ended so."""
    said = f'"ok":true,"result":{end.text}' if end.outcome == "done" else f'"ok":false,"error":{_error_of(end)}'
    return f'{{"id":"{ticket}",{said},"worker":"{worker}"}}'


def _error_of(end: JobEnd) -> str:
    if end.outcome == "dead":
        return f"{{{end.text}}}"
    if end.outcome == "cancelled":
        return compact({"code": "Aborted", "message": "The job was cancelled."})
    return compact({"code": "Expired", "message": "The job expired before it ran."})
