"""The steps of a chain as they travel, in the messages of those before them. PROTOCOL.md, section 10.13."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..queue.shards import Shards
from ..wire.foreign import is_count
from ..wire.job_part import job_part_text, read_job_part
from ..wire.keys import is_id, is_queue_name
from ..wire.message import MAX_TASK_LENGTH, Request, job_body, request_tail, unstamped
from ..wire.payload import compact, escaped_halves

_OPENING = re.compile(r"\s*\{\s*")


def step_id(chain: str, place: int) -> str:
    """Of the step in this place, counted from 0: the same however often it is made, so that it comes once."""
    return chain if place == 0 else f"{chain}-{place + 1}"


class Step(NamedTuple):
    """A job that has not come yet. Its arguments are a text, so that nobody on the way decodes and encodes them again."""

    id: str
    task: str
    queue: str
    #: JSON.
    args: str
    #: What it carries as a job, a JobPart.
    job: Mapping[str, Any] | None
    ttl_ms: int
    #: The field of its arguments that gets the result of the step before it.
    passes: str | None = None
    #: How its queue is spread; None where it is not, or what it is in was chosen.
    shards: Shards | None = None


def steps_text(steps: Sequence[Step]) -> str:
    """``then`` of a message."""
    return escaped_halves(compact([_step_object(step) for step in steps]))


def _step_object(step: Step) -> dict[str, Any]:
    told: dict[str, Any] = {"id": step.id, "task": step.task, "queue": step.queue, "args": step.args}
    if step.job is not None:
        told["job"] = step.job
    if step.ttl_ms > 0:
        told["ttl"] = step.ttl_ms
    if step.passes is not None:
        told["pass"] = step.passes
    return told


def read_then(value: Any) -> list[Step]:
    """The steps behind a job; none where others wrote what cannot be read."""
    steps = [_read_step(each) for each in value] if isinstance(value, list) else []
    readable = [step for step in steps if step is not None]
    return readable if len(readable) == len(steps) else []


def _read_step(value: Any) -> Step | None:
    if not isinstance(value, dict):
        return None
    id, task, queue, args = (value.get(name) for name in ("id", "task", "queue", "args"))
    if not is_id(id) or not is_queue_name(queue) or not isinstance(args, str):
        return None
    if not isinstance(task, str) or len(task) > MAX_TASK_LENGTH:
        return None
    ttl, passes = value.get("ttl"), value.get("pass")
    return Step(
        str(id),
        task,
        str(queue),
        args,
        read_job_part(value["job"]) if "job" in value else None,
        int(ttl) if ttl is not None and is_count(ttl) else 0,
        passes if isinstance(passes, str) else None,
    )


def step_message(steps: Sequence[Step], from_: str | None, traceparent: str | None = None, tracestate: str | None = None) -> str:
    """The first of some steps as a message without its ``at``; the others travel in it."""
    first, *others = steps
    # What is merged has neither a caller nor a trace of its own: nothing is behind its arguments.
    is_merged = first.job is not None and first.job.get("merged") is True
    tail = "}" if is_merged else request_tail(None, from_, traceparent, tracestate)
    then = f',"then":{steps_text(others)}' if others else ""
    part = None if first.job is None else job_part_text(first.job)
    return unstamped(first.ttl_ms, job_body(first.id, part, first.task, first.args, then + tail))


def following_of(request: Request, result: str, own_queue: str) -> str:
    """What follows a job that is done with this result, which is JSON, as the settle function takes it; empty when nothing does."""
    steps = read_then(request.then)
    if not steps:
        return ""
    following = steps[0]
    if following.passes is not None:
        following = following._replace(args=_with_field(following.args, following.passes, result))
    message = step_message([following, *steps[1:]], request.from_, request.traceparent, request.tracestate)
    return message if following.queue == own_queue else f"{following.queue} {message}"


def _with_field(args: str, field: str, value: str) -> str:
    """Spliced in as text: neither is decoded and encoded again. A field of that name that is there already comes behind it, and counts."""
    opening = _OPENING.match(args)
    if opening is None:
        return args
    rest = args[opening.end() :]
    comma = "" if rest.startswith("}") else ","
    return f"{{{escaped_halves(compact(field))}:{value}{comma}{rest}"
