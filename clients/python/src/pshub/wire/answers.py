"""What functions answer, and how their answers are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Pushed(NamedTuple):
    #: How many of the batch, from its beginning, are in the list.
    accepted: int
    #: Requests that were waiting before these.
    length: int
    #: Redis microseconds, the ``at`` of all of them.
    at: str
    #: An earlier try of the same push had arrived after all; this one did nothing.
    repeated: bool
    #: Taken off each ttl because the push was so long on its way; at least 1 is left of it.
    late_ms: int


class ClaimedRequest(NamedTuple):
    text: bytes
    #: Made up for a message without one; None: the one in the message.
    made_up_id: str | None
    is_job: bool


class Claimed(NamedTuple):
    now_us: int
    #: Calls that still wait.
    left: int
    #: Jobs that still wait; 0 when the claim was not for jobs.
    jobs_left: int
    #: Dropped because their deadline had passed.
    expired: int
    #: Calls first, then jobs.
    requests: list[ClaimedRequest]


class Beat(NamedTuple):
    now_us: int
    held: bool
    #: Requests whose callers gave up in the last seconds.
    cancelled: list[str]
    #: Other workers of the queue whose leases have ended.
    ended: list[str]
    #: Since when the queue is paused, Redis milliseconds; None when it is served.
    paused_ms: int | None
    #: When the first job is due, Redis milliseconds; None when none waits, or another worker looks after that.
    due_ms: int | None
    #: The same of schedules.
    tick_ms: int | None
    #: Over which shards its queue is spread, as it lies there; None where nothing says so.
    shards: bytes | None = None


#: A request, behind the id that it is held under.
HeldText = tuple[str, bytes]


class Told(NamedTuple):
    """Somebody who waits for a job that has ended."""

    #: The job's held id.
    id: str
    #: What the answer is to be marked with.
    ticket: str
    hub_id: str


class Adopted(NamedTuple):
    """What was taken over from a lost worker, and what became of it."""

    #: Nothing is left to take over.
    done: bool
    #: Held by this worker now, whose callers are to be told.
    to_answer: list[HeldText]
    #: What went back to its list.
    redelivered: list[HeldText]
    #: Jobs that were given up.
    dead: list[HeldText]
    #: Who waits for these.
    told: list[Told]
    #: What is to be done in other queues, held by this worker now.
    outs: list[HeldText]


def read_pushed(answer: Sequence[Any]) -> Pushed:
    accepted, length, at, *more = answer
    repeated, late_ms = more or (0, 0)
    return Pushed(accepted, length, at.decode(), repeated == 1, late_ms)


def read_claimed(answer: Sequence[Any]) -> Claimed | None:
    """None when the lease has ended."""
    if answer[1] == -1:
        return None
    now, texts, *more = answer
    left, expired, named, calls, jobs_left = more[:5] or (0, 0, [], len(texts), 0)
    made_up = {int(place) - 1: id.decode() for place, id in zip(named[::2], named[1::2])}
    requests = [ClaimedRequest(text, made_up.get(at), at >= calls) for at, text in enumerate(texts)]
    return Claimed(int(now), left, jobs_left, expired, requests)


def read_beat(answer: Sequence[Any]) -> Beat:
    now, held, cancelled, ended = answer[:4]
    paused_ms, due_ms, tick_ms = (int(answer[at]) if len(answer) > at and answer[at] else None for at in (5, 6, 7))
    shards = answer[9] if len(answer) > 9 and answer[9] else None
    return Beat(int(now), held == 1, texts_of(cancelled), texts_of(ended), paused_ms, due_ms, tick_ms, shards)


def read_adopted(answer: Sequence[Any]) -> Adopted | None:
    """None: the other worker lives, or this one has no lease itself."""
    state, *lists = answer
    if state == -1:
        return None
    to_answer, redelivered, dead, told, outs = [*lists, [], [], [], [], []][:5]
    return Adopted(state == 1, _pairs_of(to_answer), _pairs_of(redelivered), _pairs_of(dead), _told_of(texts_of(told)), _pairs_of(outs))


class Enqueued(NamedTuple):
    """What the enqueue function made of a batch."""

    #: An earlier try of the same batch had arrived after all; this one did nothing.
    repeated: bool
    #: Which of the batch, counted from 0, are not there because a job of the same uniqueness is, and the id of that one.
    twins: dict[int, str]


class Moved(NamedTuple):
    """What was moved of the jobs whose time had come."""

    now_us: int
    jobs: int
    #: When the next one is due, Redis milliseconds; None when none waits.
    due_ms: int | None


class SettledJobs(NamedTuple):
    """What became of settled jobs."""

    #: Dead jobs that made room.
    dropped: int
    #: Who waits for them.
    told: list[Told]
    #: What is to be done in other queues, held by this worker now.
    outs: list[HeldText]


def read_enqueued(answer: Sequence[Any]) -> Enqueued:
    _, repeated, *twins = answer
    return Enqueued(repeated == 1, {int(index) - 1: id.decode() for index, id in zip(twins[::2], twins[1::2])})


def read_moved(answer: Sequence[Any]) -> Moved:
    now, count, due = answer
    return Moved(int(now), count, int(due) if due else None)


def read_settled_jobs(answer: Sequence[Any], ids: Sequence[str]) -> SettledJobs:
    """``ids``: of the jobs that were settled, in their order."""
    dropped, told, outs = answer
    waiting = [Told(ids[int(index) - 1], ticket.decode(), hub_id.decode()) for index, ticket, hub_id in zip(told[::3], told[1::3], told[2::3])]
    return SettledJobs(dropped, waiting, _pairs_of(outs))


def _pairs_of(flat: Sequence[bytes]) -> list[HeldText]:
    return list(zip(texts_of(flat[::2]), flat[1::2]))


def _told_of(flat: Sequence[str]) -> list[Told]:
    return [Told(*each) for each in zip(flat[::3], flat[1::3], flat[2::3])]


def texts_of(values: Sequence[bytes]) -> list[str]:
    return [value.decode("utf-8", "replace") for value in values]
