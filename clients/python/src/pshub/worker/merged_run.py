"""
Runs of merged jobs. Their payloads come in one list, in the order of the keys. They are cut by the bytes that are said of each, and not read as
that list: one that is no JSON, which anybody can have put there, is to cost the others nothing, nor to shift them. PROTOCOL.md, section 10.18.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ..jobs.held_job import held_as_job
from ..queue.job_queue import JobEnd
from ..task.merged import RunArgs
from ..task.task import Task
from ..wire.errors import problem_error
from ..wire.job_part import failure_text
from ..wire.keys import Keys
from ..wire.message import MalformedMessage, Request, decode_request
from ..wire.payload import PayloadProblem, decode_payload

#: What cannot be read.
_UNREADABLE: Any = object()
_LEADING_RUN = re.compile(rb'\{"at":[0-9]+,"ttl":[0-9]+,"id":"[A-Za-z0-9_-]+","job":(\{"fence":[0-9]+,"run":[^{}]*\}),"task":"[^" ]*","args":\[')


def cut_run(raw: bytes, keys: Keys) -> Request | None:
    """The request of a run, with its payloads as far as they can be read; None for what is no run."""
    head = _LEADING_RUN.match(raw)
    if head is None:
        return None
    try:
        sizes = [int(size) for each in json.loads(head[1])["run"] for size in each[2][::2]]
        request = decode_request(head[0] + b"]}", None, keys)
    except (MalformedMessage, ValueError, TypeError, IndexError, OverflowError, RecursionError):
        # Somebody wrote it by hand.
        return None
    args: list[Any] = []
    start = head.end()
    for size in sizes:
        args.append(_read_payload(raw[start : start + size]))
        start += size + 1
    request.held_id = held_as_job(request.held_id)
    request.args = args
    return request


def _read_payload(raw: bytes) -> Any:
    try:
        return decode_payload(raw.decode("utf-8"))
    except (UnicodeDecodeError, PayloadProblem):
        return _UNREADABLE


def run_args(request: Request) -> RunArgs | None:
    """Keys and payloads of a request for a task that merges its jobs; None for what came without a key."""
    job = request.job or {}
    if "key" in job:
        # Enqueued before the task merged its jobs: alone.
        return [(job["key"], [request.args])]
    if "run" not in job or not isinstance(request.args, list):
        return None
    brought = []
    start = 0
    for key, _, payloads in job["run"]:
        brought.append((key, request.args[start : start + payloads]))
        start += payloads
    return brought


def refused_run(request: Request, task: Task[..., Any], run: RunArgs) -> JobEnd | None:
    """The end of a run that is not started, because a payload of it is none that its task takes: that one is given up."""
    reason: str | None = None
    words: list[str] = []
    for _, payloads in run:
        word = "b0"
        for place, payload in enumerate(payloads, 1):
            problem = _problem_of(task, payload)
            if problem is not None:
                reason = reason or problem
                word = f"{'x' if payload is _UNREADABLE else 'd'}{place}"
                break
        words.append(word)
    if reason is None:
        return None
    return JobEnd(request.held_id, "retry", 0, failure_text("InvalidArgs", reason), words=tuple(words))


def _problem_of(task: Task[..., Any], payload: Any) -> str | None:
    if payload is _UNREADABLE:
        return "The payload is not valid JSON."
    problems = task.problems_of(payload)
    return problem_error("InvalidArgs", problems, task.name.full).message if problems else None
