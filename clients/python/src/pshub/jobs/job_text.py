"""Jobs as texts that lie in Redis already: made into others without decoding and encoding their arguments again."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..wire.canonical import canonical
from ..wire.payload import decode_payload

_HEAD = re.compile(r'\{"at":([0-9]+),"ttl":([0-9]+),("id":"[A-Za-z0-9_-]+",)("job":(?=\{))?')
_BEFORE_ARGS = re.compile(r'"task":"(?:[^"\\]|\\.)*","args":')
_LOSSES = re.compile(r',"losses":[0-9]+\}\Z')
_TRIES = re.compile(r'\{"tries":[0-9]+')
_STEP = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]', re.DOTALL)
_MEMBER = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*:')
#: When a job was to begin, and the token of its run.
_TIMES = ("delay", "due", "fence")


class _Parts(NamedTuple):
    at: int
    ttl_ms: int
    #: With its name, and the comma behind it.
    id: str
    #: What it carries as a job.
    part: str | None
    rest: str


def _split(text: str) -> _Parts | None:
    """None for what does not begin as those do that were enqueued."""
    head = _HEAD.match(text)
    if head is None:
        return None
    at, ttl, id, is_job = head.groups()
    start = head.end()
    if not is_job:
        return _Parts(int(at), int(ttl), id, None, text[start:])
    behind = _end_of_value(text, start)
    return _Parts(int(at), int(ttl), id, text[start:behind], text[behind + 1 :])


def _joined(ttl_ms: int, id: str, part: str | None, rest: str) -> str:
    job = "" if part is None else f'"job":{part},'
    return f'"ttl":{ttl_ms},{id}{job}{rest}'


def _without_brace(text: str) -> str:
    return re.sub(r"\A\s*\{", "", text)


def revived_message(dead: str, args: str | None = None) -> str:
    """A dead job as it is enqueued again: wanted for ever, its tries counted anew, its failures still there."""
    parts = _split(dead)
    # What was buried has such a beginning; what somebody else put there goes as it is.
    if parts is None:
        return _without_brace(dead)
    part = parts.part and _TRIES.sub('{"tries":0', parts.part, count=1)
    rest = _LOSSES.sub("}", parts.rest)
    if args is not None and part is not None and '"merged":true' in part:
        # Such a payload is told from others by its text.
        args = canonical(decode_payload(args))
    before = None if args is None else _BEFORE_ARGS.match(rest)
    if before is not None:
        rest = f"{before[0]}{args}{rest[_end_of_value(rest, before.end()) :]}"
    return _joined(0, parts.id, part, rest)


def hastened_message(lying: str) -> str:
    """A job that waits for its time or its next try, as it is taken at once: its tries and failures stay."""
    parts = _split(lying)
    if parts is None:
        return _without_brace(lying)
    return _joined(parts.ttl_ms, parts.id, parts.part and _without_times(parts.part), parts.rest)


def moved_message(claimed: str, now_us: int) -> str:
    """A job that was claimed, as it is put into another shard: due at once, without the token that the claim gave it."""
    parts = _split(claimed)
    if parts is None:
        return _without_brace(claimed)
    left_ms = max(1, (parts.ttl_ms * 1000 - (now_us - parts.at)) // 1000) if parts.ttl_ms > 0 else 0
    return _joined(left_ms, parts.id, parts.part and _without_times(parts.part), parts.rest)


def _without_times(part: str) -> str:
    """The other members are as they were."""
    kept: list[str] = []
    start = 1
    while True:
        member = _MEMBER.match(part, start)
        if member is None:
            return f"{{{','.join(kept)}}}"
        end = _end_of_value(part, member.end())
        if member[1] not in _TIMES:
            kept.append(part[start:end])
        behind = part.find(",", end)
        start = len(part) if behind < 0 else behind + 1


def _end_of_value(text: str, start: int) -> int:
    """Where a value that begins there ends, in text that is JSON."""
    depth = 0
    for step in _STEP.finditer(text, start):
        char = step[0]
        if char in ("{", "["):
            depth += 1
        elif char in ("}", "]", ","):
            if depth == 0:
                return step.start()
            if char != ",":
                depth -= 1
                if depth == 0:
                    return step.end()
    return len(text)
