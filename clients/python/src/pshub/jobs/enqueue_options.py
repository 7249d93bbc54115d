"""How a job is to be run, from what its caller says to what travels."""

from __future__ import annotations

import datetime
import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from ..wire.canonical import canonical
from ..wire.clock import wall_ms
from ..wire.errors import HubError, InvalidArgs
from ..wire.foreign import is_amount
from ..wire.job_part import BACKOFF_KINDS, LONGEST_WAIT_MS, MAX_KEY_BYTES, Backoff, is_backoff, is_wait
from ..wire.keys import forward_queue, forwarder_of, is_forwarder_name
from ..wire.natives import has_zone
from ..wire.payload import decode_payload
from .backoff import rounded


class UniqueOptions(TypedDict, total=False):
    """
    :ivar id: jobs of a task with the same id are duplicates. Default: jobs with the same arguments
    :ivar until: ``"ended"``: until the job has ended, succeeded or not (default); ``"started"``: only until it starts
    :ivar for_ms: at most this long. Default: until a day after it is due
    """

    id: str
    until: str
    for_ms: float


class ScheduleOptions(TypedDict, total=False):
    """Of the jobs of a schedule, whose times say when they are due: see EnqueueOptions."""

    queue: str | None
    forward: str | None
    retries: int | None
    backoff: Backoff | None
    key: str | None
    score: float | None
    priority: str | None
    expires_ms: float | None
    tracked: bool | None
    keep_result_ms: float | None
    unique: bool | str | UniqueOptions | None
    timeout_ms: float | None


class EnqueueOptions(ScheduleOptions, total=False):
    """
    :ivar queue: queue of the job. Default: the queue of its task; required if no worker has declared the task
    :ivar forward: forwarder that delivers the job, instead of a worker. Its task and arguments need not be known here. Jobs with the same
      key are forwarded one at a time
    :ivar delay_ms: run it after this many milliseconds
    :ivar at: run it at this time: a datetime with a time zone, or milliseconds since 1970, on the clock of Redis
    :ivar retries: how often it is retried when it fails. Default: as declared by its task, else 25. 0: never
    :ivar backoff: wait before a retry. Default: as declared by its task, else ``exponential``
    :ivar key: required for a ``keyed`` task: jobs with the same key run one at a time, in the order in which they were enqueued, across
      all workers; with ``keyed="merged"`` they are merged. A string of 1 to 200 bytes
    :ivar score: for merged jobs: payloads with lower scores come first. Default: the time of Redis in microseconds
    :ivar priority: ``high`` runs before all other jobs of the queue, ``low`` after them
    :ivar expires_ms: do not run it if it has waited this many milliseconds since it was enqueued or due
    :ivar tracked: True: ``status()``, ``result()`` and ``cancel()`` work, also in other processes, until an hour after its end
    :ivar keep_result_ms: like ``tracked``, and how long to keep the record with the result
    :ivar unique: allow at most one such job at a time: True for the same arguments, a string for an id, or UniqueOptions. Implies
      ``tracked``
    :ivar durable: ``replica``: the job is acknowledged only when a replica of its Redis has it, so that a failover does not lose it. If
      no replica confirms it within a second, OutcomeUnknown is raised: the job is enqueued, but lost if the master fails. Default:
      acknowledged when its Redis has it
    :ivar timeout_ms: how long Redis may take to confirm it. Default 5000
    """

    delay_ms: float | None
    at: datetime.datetime | float | None
    durable: str | None


DEFAULT_ENQUEUE_MS = 5000
_1970 = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
#: 2001-01-01. A number below it was meant to be seconds.
_EARLIEST_MS = 978_307_200_000
_HOUR_MS = 3600 * 1000
_DAY_MS = 24 * _HOUR_MS
_MAX_UNIQUE_ID = 100
_MOST_RETRIES = 1_000_000
#: Beyond that they are not told apart any more.
_MAX_SCORE = 2**53
#: What is said of one job has no meaning where several become one.
_UNMERGEABLE = ("retries", "backoff", "expires_ms", "tracked", "keep_result_ms", "unique")
_KNOWN = tuple(EnqueueOptions.__annotations__)
#: Of one of several jobs, or of those to come: only those that are enqueued together now are acknowledged.
_KNOWN_OF_ONE = tuple(name for name in _KNOWN if name != "durable")


class JobShape(NamedTuple):
    """What a job's options come to in its message."""

    #: A JobPart; None for a job that carries nothing but its arguments.
    part: dict[str, Any] | None
    #: Milliseconds after which it is not wanted any more; 0: never.
    ttl_ms: int


def shape_of(task: str, args_json: str, options: Mapping[str, Any], keyed: str | None, scores: str | None = None) -> JobShape:
    """``args_json``: arguments as they travel. ``keyed``, ``scores``: as its task is. Raises InvalidArgs that names the option."""
    given = {name: value for name, value in options.items() if value is not None}
    if "forward" in given:
        keyed = "ordered" if "key" in given else None
    _need_known(task, given, _KNOWN)
    _check_key(task, given, keyed)
    _check_merged(task, given, keyed)
    _check(task, given)
    part: dict[str, Any] = {name: given[name] for name in ("retries", "backoff") if name in given}
    if given.get("delay_ms"):
        part["delay"] = rounded(given["delay_ms"])
    if "at" in given:
        part["due"] = _moment_of(task, given["at"])
    if "key" in given:
        part["key"] = given["key"]
    if keyed == "merged":
        part["merged"] = True
        if "score" in given:
            part["score"] = given["score"]
        if scores is not None:
            part["scores"] = scores
    if given.get("priority") in ("high", "low"):
        part["priority"] = given["priority"]
    unique = given.get("unique", False)
    if given.get("tracked") is True or "keep_result_ms" in given or unique is not False:
        part["keep"] = rounded(given.get("keep_result_ms", _HOUR_MS))
    if unique is not False:
        wait_ms = max(0.0, part["due"] - wall_ms()) if "due" in part else given.get("delay_ms", 0)
        part.update(_unique_of(task, args_json, unique, wait_ms))
    expires_ms = given.get("expires_ms")
    return JobShape(part or None, 0 if expires_ms is None else max(1, rounded(expires_ms)))


def check_of_one(task: str, options: Mapping[str, Any]) -> None:
    """Options of one of several jobs, or of those to come. Raises InvalidArgs."""
    _need_known(task, [name for name, value in options.items() if value is not None], _KNOWN_OF_ONE)


def _need_known(task: str, names: Iterable[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise _wrong(task, f"there is no option '{name}'. Known: {', '.join(known)}")


def combined(common: Mapping[str, Any], own: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options of several, and those of one of them, which win: also as to where it goes."""
    given = {name: value for name, value in own.items() if value is not None}
    if "queue" not in given and "forward" not in given:
        return {**common, **given}
    return {**{name: value for name, value in common.items() if name not in ("queue", "forward")}, **given}


def place_of(called: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    """The queue that is named, if any, and what a route to it is for: ``jobs`` or ``forward``. Raises InvalidArgs."""
    queue, forward = options.get("queue"), options.get("forward")
    if forward is None:
        forwarder = forwarder_of(queue)
        if forwarder is not None:
            what = "belongs to a forwarder: use forward instead"
            raise _wrong(called, f"queue {str(queue)[:80]!r} {what}, {forwarder[:80]!r}")
        return queue, "jobs"
    if queue is not None:
        raise _wrong(called, "give queue or forward, not both: a forwarder has a queue of its own")
    if not is_forwarder_name(forward):
        what = "forward must be the name of a forwarder, 1 to 56 letters, digits, and _ . -"
        raise _wrong(called, f"{what}, not {str(forward)[:80]!r}")
    return forward_queue(forward), "forward"


def _check_key(task: str, given: Mapping[str, Any], keyed: str | None) -> None:
    key = given.get("key")
    if key is None and keyed is None:
        return
    if key is None:
        raise _wrong(task, f"its jobs are {keyed}: give a key, for example key='order-17'")
    if keyed is None:
        what = "it has a key, but no worker declared the task as keyed='ordered' or 'merged'"
        raise _wrong(task, f"{what}. Declare it so, or leave out the key")
    check_key_text(task, key)
    if given.get("priority", "normal") != "normal":
        raise _wrong(task, "jobs with a key have no priority: they run in order. Leave it out")


def check_key_text(task: str, key: Any) -> None:
    """Raises InvalidArgs."""
    # Half a surrogate pair counts as what it is replaced by.
    if not isinstance(key, str) or not 0 < len(key.encode("utf-8", "surrogatepass")) <= MAX_KEY_BYTES:
        raise _wrong(task, f"key must be a string of 1 to {MAX_KEY_BYTES} bytes, not {_shown(key)}")


def _check_merged(task: str, given: Mapping[str, Any], keyed: str | None) -> None:
    score = given.get("score")
    if keyed != "merged":
        if score is not None:
            what = "score is for merged jobs, and no worker declared the task as keyed='merged'"
            raise _wrong(task, f"{what}. Leave it out")
        return
    for name in _UNMERGEABLE:
        if given.get(name, False) is not False:
            what = f"{name} is not allowed for a merged job, which runs together with others"
            raise _wrong(task, f"{what}. {_advice_for(name)}")
    is_number = isinstance(score, (int, float)) and not isinstance(score, bool)
    if score is not None and not (is_number and abs(score) <= _MAX_SCORE):
        raise _wrong(task, f"score must be a number of at most 2^53, not {_shown(score)}")


def _advice_for(name: str) -> str:
    if name in ("retries", "backoff"):
        return "Set it on the task"
    return "Leave it out; a merged job also cannot be a step of a chain or follow a batch" if name == "tracked" else "Leave it out"


def _check(task: str, given: Mapping[str, Any]) -> None:
    _need_waits(task, {name: given[name] for name in ("delay_ms", "expires_ms", "keep_result_ms") if name in given})
    if "delay_ms" in given and "at" in given:
        raise _wrong(task, "give delay_ms or at, not both")
    if "retries" in given and not is_wait(given["retries"], _MOST_RETRIES):
        raise _wrong(task, f"retries must be a whole number of at least 0, not {_shown(given['retries'])}")
    if "backoff" in given and not is_backoff(given["backoff"]):
        raise _wrong(task, f"backoff must be {BACKOFF_KINDS}, not {_shown(given['backoff'])}")
    if "durable" in given and given["durable"] != "replica":
        raise _wrong(task, f"durable must be 'replica', not {_shown(given['durable'])}")
    if "priority" in given and given["priority"] not in ("high", "normal", "low"):
        raise _wrong(task, f"priority must be 'high', 'normal' or 'low', not {_shown(given['priority'])}")


def _need_waits(task: str, waits: Mapping[str, Any]) -> None:
    for name, ms in waits.items():
        if not is_amount(ms, LONGEST_WAIT_MS):
            raise _wrong(task, f"{name} must be milliseconds, 0 to ten years, not {_shown(ms)}")


def _moment_of(task: str, at: Any) -> int:
    """Redis milliseconds."""
    ms = at
    if isinstance(at, datetime.datetime):
        if not has_zone(at):
            told = "has no time zone; add one, as in datetime.now(timezone.utc)"
            raise _wrong(task, f"at is {_shown(at)}, which {told}")
        ms = (at - _1970).total_seconds() * 1000
    if not is_amount(ms, wall_ms() + LONGEST_WAIT_MS):
        what = "at must be a datetime or milliseconds since 1970, at most ten years from now"
        raise _wrong(task, f"{what}, not {_shown(at)}")
    if ms < _EARLIEST_MS:
        year = (_1970 + datetime.timedelta(milliseconds=ms)).year
        raise _wrong(task, f"at must be milliseconds since 1970; {_shown(at)} is in {year}: multiply seconds by 1000")
    return rounded(ms)


def _unique_of(task: str, args_json: str, unique: Any, wait_ms: float) -> dict[str, Any]:
    given = unique if isinstance(unique, dict) else {"id": None if unique is True else unique}
    known = tuple(UniqueOptions.__annotations__)
    for name in given:
        if name not in known:
            raise _wrong(task, f"unique has no option '{name}'. Known: {', '.join(known)}")
    id, until, for_ms = given.get("id"), given.get("until", "ended"), given.get("for_ms")
    if id is not None and not (isinstance(id, str) and 0 < len(id) <= _MAX_UNIQUE_ID):
        raise _wrong(task, f"a unique id must be a string of 1 to {_MAX_UNIQUE_ID} characters, not {_shown(id)}")
    if until not in ("ended", "started"):
        raise _wrong(task, f"unique.until must be 'ended' or 'started', not {_shown(until)}")
    if for_ms is not None:
        _need_waits(task, {"unique.for_ms": for_ms})
    part: dict[str, Any] = {
        "unique": f"{task}#{digest_of(args_json)}" if id is None else f"{task}:{id}",
        "uniqueMs": max(1, rounded(wait_ms + _DAY_MS if for_ms is None else for_ms)),
    }
    if until == "started":
        part["until"] = until
    return part


def digest_of(args_json: str) -> str:
    """The same for arguments that are the same, in whatever order their keys were written and in whatever language."""
    digest = hashlib.sha256(canonical(decode_payload(args_json)).encode()).digest()
    return urlsafe_b64encode(digest).decode()[:22]


def payload_text(args_json: str) -> str:
    """The text by which equal payloads are told, in whatever order their keys were written and in whatever language."""
    return canonical(decode_payload(args_json))


def _shown(value: Any) -> str:
    try:
        return json.dumps(value)[:80]
    except (TypeError, ValueError, RecursionError):
        return str(value)[:80]


def _wrong(task: str, what: str) -> HubError:
    return InvalidArgs(f"enqueue {task}: {what}.", task=task)
