"""What Redis' error answers mean, and what it means when there is none."""

from __future__ import annotations

import re
from typing import Any

from redis import exceptions
from redis.asyncio.connection import DefaultParser


class NotConnected(Exception):
    """The command was never written: certainly not run."""


class ConnectionLost(Exception):
    """The connection broke or stalled with the command under way: it may have run."""


class ReplyError(Exception):
    """Redis' own error answer, its first word included; the command was not run."""


_PASSING = (
    "LOADING", "BUSY", "READONLY", "UNBLOCKED", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "NOAUTH", "WRONGPASS",
    "MOVED", "ASK",
)  # fmt: skip
WRONG_SERVER = ("READONLY", "UNBLOCKED", "NOAUTH", "WRONGPASS")


def code_of(error: BaseException) -> str:
    return str(error).split(" ", 1)[0]


def is_passing(error: BaseException) -> bool:
    """An answer that may be different a moment later."""
    return isinstance(error, ReplyError) and code_of(error) in _PASSING


def is_refusal(error: BaseException) -> bool:
    """An answer that stays the same until somebody changes the server or its settings."""
    return isinstance(error, ReplyError) and code_of(error) not in _PASSING


def is_full(error: BaseException) -> bool:
    return isinstance(error, ReplyError) and code_of(error) in ("OOM", "MISCONF")


#: redis-py takes the first word off those answers that it has classes for, and off those that begin with ERR.
_CODES = {cls: code for code, cls in DefaultParser.EXCEPTION_CLASSES.items() if isinstance(cls, type)}
ANSWERS = (exceptions.ResponseError, exceptions.BusyLoadingError, exceptions.AuthenticationError)


def answer_of(error: BaseException) -> ReplyError:
    text = str(error)
    if isinstance(error, exceptions.AuthenticationError):
        code = "NOAUTH" if text.startswith("Authentication required") else "WRONGPASS"
    else:
        code = _CODES.get(type(error), "" if text.split(" ", 1)[0].isupper() else "ERR")
    return ReplyError(text if text.startswith(code) else f"{code} {text}")


def first(answers: list[Any]) -> Any:
    """The first answer of a post, or its error raised."""
    return none_refused(answers[:1])[0]


def none_refused(answers: list[Any]) -> list[Any]:
    """The answers of a post; the first error among them is raised."""
    for answer in answers:
        if isinstance(answer, ReplyError):
            raise answer
    return answers


_RIGHT = "the Redis user lacks a right; 'pshub check' names it, and the rule that grants it"
_ADVICE = {
    "WRONGPASS": "Redis rejected this user or password; correct them in the URL, redis://user:password@host",
    "NOAUTH": "Redis requires a password; put it into the URL, redis://user:password@host",
    "ERR Function not found": ("this Redis does not have pshub's library, and this user may not load it; run 'pshub install' as a user who may"),
    "ERR unknown command .?FCALL": "this server is too old, or is not Redis; Redis 7.0 or newer is required",
    "ERR unknown command .?(?i:TIME|H[A-Z]+)": "this is a sentinel, or not Redis at all; for sentinels use redis+sentinel://host:26379/name",
    # What a function hears in Redis 7.0, and in newer ones and Valkey.
    "ERR The user executing the script can't|ERR ACL failure in script": _RIGHT,
    "NOPERM": _RIGHT,
    "READONLY": "this server is a replica, which refuses writes; connect to its master",
    "CLUSTERDOWN": "no node of the Cluster serves that slot",
    "MOVED|ASK|TRYAGAIN": "a slot of the Cluster is moving to another node",
    "OOM": "Redis is full",
    "MISCONF": "Redis cannot write to its disk",
    "LOADING": "Redis is still loading its data",
}


def explained(message: str) -> str:
    """An error's text with what to do about it, where that is known; to end a sentence with, without a full stop."""
    first = message.splitlines()[0] if message else "no reason given"
    for pattern, advice in _ADVICE.items():
        if re.match(pattern, message):
            [clause, *_] = re.split(r"[,.](?= |$)| script: \S+, ", first)
            return f"{advice} ({clause})"
    # Redis quotes the arguments of a command that it does not know, and those are payloads.
    return first.split(", with args beginning with: ")[0][:200].rstrip(".")


def with_blanks_noted(message: str, username: Any, password: Any) -> str:
    """Of Redis' answer that it does not know a user or password: whether white space, which nobody sees, came along with one of them."""
    for name, text in (("password", password), ("user", username)):
        if isinstance(text, str) and text != text.strip():
            return re.sub("^WRONGPASS ", f"WRONGPASS the {name} that was given begins or ends with white space: ", message)
    return message


def is_about_rights(message: str) -> bool:
    """Redis does not let this user in, or not do this: it stays so until somebody changes a setting."""
    return re.match(r"(WRONGPASS|NOAUTH|NOPERM)\b", message) is not None
