"""
What a job carries beside its arguments: the ``job`` of its message, right behind the id, where functions in Redis read it and note
failures in it. No text in it has a brace or a bracket of its own (they are escaped), so that they find its end. PROTOCOL.md, 5.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from .errors import is_failed_status
from .foreign import LATEST_MS, is_count, text_of
from .payload import STRINGS, SURROGATES, compact

#: How long a job waits before it is tried again, in milliseconds; what its kinds are the function ``delay_after`` says.
Backoff = str | int | Sequence[int]
#: Queue and task of a step of a chain.
Place = tuple[str, str]

#: What ``backoff`` may be, for people.
BACKOFF_KINDS = "'exponential', 'polynomial', a number of milliseconds or a list of them"
MAX_FAILURE_MESSAGE = 500
#: Ten years: longer waits are a mistake.
LONGEST_WAIT_MS = 10 * 365 * 24 * 3600 * 1000
_MAX_FAILURES = 10
_MAX_UNIQUE = 256
#: Bytes of UTF-8.
MAX_KEY_BYTES = 200
_MAX_BATCH = 130
_MAX_CHAIN = 64
_MAX_BACKOFFS = 100
_MAX_SAFE_INTEGER = 2**53 - 1
_BRACKETS = re.compile(r"[{}\[\]]")


class _Failure(TypedDict):
    #: Redis milliseconds.
    at: int
    #: One of the error table, or the handler's own.
    code: str
    message: str


class JobFailure(_Failure, total=False):
    #: The HTTP status that the handler chose.
    status: int


class RunKey(NamedTuple):
    """A key of a run of merged jobs."""

    key: str
    #: How often its runs have failed so far.
    tries: int
    #: How many payloads the run took of it.
    payloads: int


class JobPart(TypedDict, total=False):
    """Under the names that travel, in the order in which they do. What is absent is as the task says."""

    #: How often it has failed.
    tries: int
    #: The last ten failures, oldest first.
    errors: list[JobFailure]
    retries: int
    backoff: Backoff
    #: Milliseconds from its push, or Redis milliseconds.
    delay: int
    due: int
    priority: str
    #: Milliseconds for which its record is kept after its end. Absent: it has none.
    keep: int
    #: What no other job of its queue may say at the same time; for how long at most; and ``started``: only until it starts.
    unique: str
    uniqueMs: int
    until: str
    #: Jobs of its task with the same key run one after the other, or are merged.
    key: str
    #: Its arguments are merged with those of the same key, under this score; ``first``: that of an equal one that waits already counts.
    merged: bool
    score: float
    scores: str
    #: What a run took of several keys: said by the claim.
    run: list[RunKey]
    #: A token that is higher than those of all runs before it that had its key: said by the claim, never kept.
    fence: int
    #: Since when it could run, Redis microseconds, of a job with a key: said with the fence. To wait for a key is no backlog.
    since: int
    #: The batch it is one of: ``<queue>/<id>``.
    batch: str
    #: The chain that it is a step of: id of its first job, which one it is, counted from 1, and the place of each.
    chain: str
    step: int
    steps: list[Place]


def job_part_text(part: Mapping[str, Any]) -> str:
    """As it travels."""
    return _without_brackets(whole(compact(part)))


def failure_text(code: str, message: str, status: int | None = None) -> str:
    """A failure as functions in Redis take it: JSON without its braces, to which they add the time."""
    failure: dict[str, Any] = {"code": code, "message": message[:MAX_FAILURE_MESSAGE]}
    if status is not None:
        failure["status"] = status
    return _without_brackets(whole(compact(failure)))[1:-1]


def _without_brackets(json_text: str) -> str:
    """Braces and brackets inside the texts of some JSON, as escapes."""

    def escaped(text: re.Match[str]) -> str:
        return _BRACKETS.sub(lambda bracket: f"\\u{ord(bracket[0]):04x}", text[0])

    return STRINGS.sub(escaped, json_text)


def whole(text: str) -> str:
    """Without halves of surrogate pairs, which the JSON reader in Redis refuses."""
    return text if text.isascii() else SURROGATES.sub("\ufffd", text)


def read_job_part(value: Any) -> JobPart:
    """What others wrote there, as far as it can be used."""
    found = value if isinstance(value, dict) else {}
    part: dict[str, Any] = {"tries": 0, "errors": []}
    for name, read in _READERS.items():
        usable = read(found[name]) if name in found else None
        if usable is not None:
            part[name] = usable
    return part  # type: ignore[return-value]


def read_steps(value: Any) -> list[Place] | None:
    """Queue and task of the steps of a chain; None for what is none."""
    if not isinstance(value, list):
        return None
    steps = [(each[0], each[1]) for each in value if isinstance(each, list) and _are_texts(each[:2])]
    return steps if len(steps) == len(value) else None


def read_failure(value: Any) -> JobFailure | None:
    if not isinstance(value, dict):
        return None
    at: Any = value.get("at")
    failure: JobFailure = {
        "at": int(at) if is_count(at, LATEST_MS) else 0,
        "code": text_of(value.get("code"), 64),
        "message": text_of(value.get("message"), MAX_FAILURE_MESSAGE),
    }
    status = value.get("status")
    if is_failed_status(status):
        failure["status"] = int(status)
    return failure


def is_wait(value: Any, most: float = LONGEST_WAIT_MS) -> bool:
    return is_count(value, most)


def is_keyed(value: Any) -> bool:
    """
    Whether it says how the jobs of a task with the same key are run: ``ordered``, one after the other; ``merged``, those that wait
    together.
    """
    return isinstance(value, str) and value in ("ordered", "merged")


def is_backoff(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return 0 < len(value) <= _MAX_BACKOFFS and all(is_wait(ms) for ms in value)
    return (isinstance(value, str) and value in ("exponential", "polynomial")) or is_wait(value)


def _are_texts(values: Sequence[Any]) -> bool:
    return len(values) == 2 and all(isinstance(value, str) for value in values)


def _count(most: float = 2**40) -> Callable[[Any], int | None]:
    return lambda value: int(value) if is_count(value, most) else None


def _text(most: int) -> Callable[[Any], str | None]:
    return lambda value: value if isinstance(value, str) and len(value) <= most else None


def _one_of(*known: str) -> Callable[[Any], str | None]:
    return lambda value: value if isinstance(value, str) and value in known else None


def _failures(value: Any) -> list[JobFailure] | None:
    if not isinstance(value, list):
        return None
    return [failure for failure in map(read_failure, value[-_MAX_FAILURES:]) if failure is not None]


def _score(value: Any) -> float | None:
    """Beyond that it is none that anybody gave, and could not be written again."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300 else None


_tries = _count()


def _run_keys(value: Any) -> list[RunKey] | None:
    """``[[key, tries, [bytes, score, ...]], ...]``"""
    if not isinstance(value, list):
        return None
    return [
        RunKey(each[0], _tries(each[1]) or 0, len(each[2]) // 2)
        for each in value
        if isinstance(each, list) and len(each) > 2 and isinstance(each[0], str) and isinstance(each[2], list)
    ]


def _backoff(value: Any) -> Backoff | None:
    if not is_backoff(value):
        return None
    if isinstance(value, str):
        return value
    return [int(ms) for ms in value] if isinstance(value, list) else int(value)


#: In the order in which they travel.
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "tries": _count(),
    "errors": _failures,
    "retries": _count(),
    "backoff": _backoff,
    "delay": _count(LONGEST_WAIT_MS),
    "due": _count(_MAX_SAFE_INTEGER),
    "priority": _one_of("high", "low"),
    "keep": _count(LONGEST_WAIT_MS),
    "unique": _text(_MAX_UNIQUE),
    "uniqueMs": _count(LONGEST_WAIT_MS),
    "until": _one_of("started"),
    "key": lambda value: value if isinstance(value, str) else None,
    "merged": lambda value: True if value is True else None,
    "score": _score,
    "scores": _one_of("first"),
    "run": _run_keys,
    "fence": _count(_MAX_SAFE_INTEGER),
    "since": _count(_MAX_SAFE_INTEGER),
    "batch": _text(_MAX_BATCH),
    "chain": _text(_MAX_CHAIN),
    "step": _count(),
    "steps": read_steps,
}
