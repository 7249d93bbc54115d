"""The status of a tracked job in Redis. PROTOCOL.md, section 10.12."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..wire.foreign import text_of
from ..wire.job_part import JobFailure, Place, read_failure, read_steps
from ..wire.keys import is_id, is_queue_name, whole_queue
from ..wire.streams import Progress

#: Where a job is. The last four are ends.
STATES = ("waiting", "scheduled", "running", "retrying", "done", "dead", "expired", "cancelled")
_ENDS = STATES[4:]
_MOMENT = re.compile(r"[0-9]{1,16}")
_MAX_TASK = 128
_MAX_WORKER = 64


class JobStatus(NamedTuple):
    """
    The status of a tracked job.

    :ivar state: ``waiting``, ``scheduled``, ``running``, ``retrying``, ``done``, ``dead``, ``expired`` or ``cancelled``; a later step of
      a chain can also be ``pending``, until the steps before it have succeeded
    :ivar tries: how often it has failed so far
    :ivar error: its last failure: ``{"at", "code", "message"}``
    :ivar enqueued_ms: Redis milliseconds, like all times here; None for what has not happened yet
    :ivar due_ms: when it is or was due: the last time it was scheduled
    :ivar worker: id of the worker that runs it, or ran it last
    :ivar progress: while it runs: the last progress that its handler reported
    """

    id: str
    queue: str
    task: str
    state: str
    tries: int = 0
    error: JobFailure | None = None
    enqueued_ms: int | None = None
    due_ms: int | None = None
    started_ms: int | None = None
    ended_ms: int | None = None
    worker: str | None = None
    progress: Progress | None = None

    @property
    def has_ended(self) -> bool:
        return self.state in _ENDS


class JobRecord(NamedTuple):
    status: JobStatus
    #: JSON; None for a job that is not done.
    result: str | None
    #: The chain that it is a step of: its id, and the place of each step.
    chain: tuple[str, list[Place]] | None


def read_job_record(fields: Mapping[str, str], id: str, queue: str) -> JobRecord | None:
    """None for what is no record."""
    state = fields.get("state", "")
    if state not in STATES:
        return None
    worker = fields.get("worker")
    status = JobStatus(
        id=id,
        queue=queue,
        task=text_of(fields.get("task"), _MAX_TASK),
        state=state,
        tries=moment_of(fields.get("tries")) or 0,
        error=read_failure(_parsed(fields.get("error"))),
        enqueued_ms=moment_of(fields.get("enqueued")),
        due_ms=moment_of(fields.get("due")),
        started_ms=moment_of(fields.get("started")),
        ended_ms=moment_of(fields.get("ended")),
        worker=None if worker is None else worker[:_MAX_WORKER],
    )
    return JobRecord(status, fields.get("result") if state == "done" else None, _chain_of(fields))


def moved_to(fields: Mapping[str, str], queue: str) -> str | None:
    """The shard to which a job was moved, by the record that it left; None for one that was not."""
    to = fields.get("to")
    if fields.get("state") != "moved" or to is None or not is_queue_name(to) or to == queue:
        return None
    return to if whole_queue(to) == whole_queue(queue) else None


def moment_of(text: str | None) -> int | None:
    """A moment, or a number of things; None for what is none."""
    return int(text) if text is not None and _MOMENT.fullmatch(text) else None


def _chain_of(fields: Mapping[str, str]) -> tuple[str, list[Place]] | None:
    id, steps = fields.get("chain"), read_steps(_parsed(fields.get("steps")))
    return (id, steps) if id is not None and is_id(id) and steps is not None else None


def _parsed(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None
