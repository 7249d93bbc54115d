"""
The records of the registry that are read here. Their readers take what a record's author may have written and nothing else: a member
of a wrong type counts as missing, and without those that are required the record is Unreadable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..task.options import MAX_TIMEOUT_S
from ..task.task import DEFAULT_TIMEOUT_S
from ..wire.foreign import (
    MAX_CARD_LENGTH,
    MAX_RECORD_LENGTH,
    Unreadable,
    is_amount,
    is_count,
    is_limit,
    is_moment,
    name_of,
    object_of,
    text_of,
)
from ..wire.job_part import is_keyed
from ..wire.keys import is_queue_name
from ..wire.names import is_build, try_parse_task_name
from ..wire.payload import compact

_MAX_SLOTS = 65_536
_MAX_DIGEST = 64
_MAX_HOST = 256


class TaskCard(NamedTuple):
    task: str
    queue: str
    timeout_ms: float
    idempotent: bool
    #: How its jobs with the same key are run; None: they have no keys.
    keyed: str | None
    #: Of merged jobs: ``first``, where the first score of equal payloads counts; None: the last one.
    scores: str | None
    #: The schema's JSON, or None.
    args: str | None
    max_payload_bytes: float
    max_backlog: float
    #: Redis seconds.
    at: float


class WorkerCard(NamedTuple):
    id: str
    slots: int
    #: name:version -> digest
    tasks: dict[str, str]
    who: str
    #: Of the program that it runs; None: it does not say.
    build: str | None


class Stats(NamedTuple):
    #: Redis milliseconds of the beat; None when that cannot be told.
    seen: float | None
    draining: bool


class TaskField(NamedTuple):
    """A field of the hash of task cards. The queue that had a task first is in the task's own field."""

    field: str
    task: str
    #: None for the field of the first queue.
    queue: str | None


def further_field(task: str, queue: str) -> str:
    """Where the card of a further queue of a task is."""
    return f"{task}@{queue}"


def task_field_of(field: str) -> TaskField:
    task, at, queue = field.rpartition("@")
    # No valid name has an @ in it.
    if at and is_queue_name(queue) and try_parse_task_name(task):
        return TaskField(field, task, queue)
    return TaskField(field, field, None)


def read_task_card(raw: bytes) -> TaskCard:
    """Raises Unreadable."""
    card = object_of(raw, MAX_CARD_LENGTH)
    args = card.get("args")
    try:
        schema = compact(args) if isinstance(args, dict) else None
    except (RecursionError, ValueError):
        raise Unreadable("its schema cannot be read") from None
    return TaskCard(
        task=name_of(card, "task"),
        queue=name_of(card, "queue"),
        timeout_ms=min(_member(card, "timeoutMs", is_limit, DEFAULT_TIMEOUT_S * 1000), MAX_TIMEOUT_S * 1000),
        idempotent=card.get("idempotent") is True,
        keyed=_member(card, "keyed", is_keyed, None),
        scores=_member(card, "scores", lambda scores: isinstance(scores, str) and scores == "first", None),
        args=schema,
        max_payload_bytes=_member(card, "maxPayloadBytes", is_limit, math.inf),
        max_backlog=_member(card, "maxBacklog", is_limit, math.inf),
        at=_member(card, "at", lambda at: is_amount(at) and is_moment(at * 1000), 0),
    )


def read_worker_card(raw: bytes) -> WorkerCard:
    """Raises Unreadable."""
    card = object_of(raw, MAX_RECORD_LENGTH)
    name_of(card, "queue")
    tasks = _member(card, "tasks", lambda tasks: isinstance(tasks, dict), {})
    return WorkerCard(
        id=name_of(card, "id"),
        slots=int(_member(card, "slots", lambda slots: is_count(slots, _MAX_SLOTS), 0)),
        tasks={name: text_of(digest, _MAX_DIGEST) for name, digest in tasks.items()},
        who=f"{text_of(card.get('host'), _MAX_HOST)}/{int(_member(card, 'pid', is_count, 0))}",
        build=_member(card, "build", is_build, None),
    )


def read_stats(raw: bytes) -> Stats:
    """Raises Unreadable."""
    stats = object_of(raw, MAX_RECORD_LENGTH)
    return Stats(_member(stats, "seen", is_moment, None), stats.get("draining") is True)


def _member(record: dict[str, Any], name: str, is_right: Callable[[Any], bool], otherwise: Any) -> Any:
    value = record.get(name)
    return value if is_right(value) else otherwise
