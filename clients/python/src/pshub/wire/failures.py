"""What a caller is told of what went wrong in a worker."""

from __future__ import annotations

import json
import math
from typing import Any

from .errors import HubError, PutOff, TaskError, ToldError, is_failed_status, is_own_code
from .payload import PayloadProblem, encode_payload
from .raised import cause_of, message_of

_MAX_MESSAGE_LENGTH = 2000
_MAX_DATA_LENGTH = 65_536


class Verdict(Exception):
    """What the worker itself found wrong with what a handler yielded."""

    def __init__(self, error: HubError) -> None:
        super().__init__(error.message)
        self.error = error


def verdict_of(error: HubError) -> ToldError:
    """What the worker itself found wrong with the arguments or the result."""
    told: dict[str, Any] = {"code": error.code, "message": error.message, "retryable": False}
    return ToldError(error.code, error.message, _with_data(told, error.data))


def problems_of(error: ToldError) -> list[dict[str, str]]:
    """What was found wrong with the arguments or the result, field by field; nothing for other errors."""
    if error.code not in ("InvalidArgs", "InvalidResult"):
        return []
    problems: list[dict[str, str]] = json.loads(error.text).get("data", {}).get("problems", [])
    return problems


def failure_of(raised: BaseException) -> ToldError:
    """What the caller is told of a failure: class, message and the handler's own data, never a stack. Never raises."""
    raised = cause_of(raised)
    message = message_of(raised)[:_MAX_MESSAGE_LENGTH]
    told: dict[str, Any] = {"code": "TaskFailed", "message": message, "retryable": False}
    try:
        text = _failure_text(raised, told)
    except BaseException:
        told["message"] = type(raised).__name__
        text = encode_payload(told)
    return ToldError(told["code"], message, text, told.get("status"))


def _failure_text(raised: BaseException, told: dict[str, Any]) -> str:
    if isinstance(raised, TaskError):
        told["retryable"] = raised.retryable is True
        # As far as it is still what may be said: both can have been assigned since.
        if is_own_code(raised.code):
            told["code"] = raised.code
        if is_failed_status(raised.http_status):
            told["status"] = int(raised.http_status)
        return _with_data(told, raised.data)
    if isinstance(raised, PutOff):
        return _with_data({**told, "retryable": True}, {"retryAfterMs": math.ceil(raised.delay_ms)})
    if not isinstance(raised, HubError):
        return encode_payload(told)
    # A nested call's error is a failure of this task; which one it was is worth knowing, also without its own data.
    nested = raised.to_json()
    if not _fits({"nested": nested}):
        nested.pop("data", None)
    return _with_data(told, {"nested": nested})


def _fits(data: Any) -> bool:
    try:
        # With the level that the reply puts around it.
        return len(encode_payload({"data": data})) <= _MAX_DATA_LENGTH
    except PayloadProblem:
        return False


def _with_data(told: dict[str, Any], data: Any) -> str:
    """Of data that cannot travel, why; of too much, nothing."""
    if data is None:
        return encode_payload(told)
    try:
        fits = len(encode_payload({"data": data})) <= _MAX_DATA_LENGTH
    except PayloadProblem as problem:
        return encode_payload({**told, "data": {"problems": [problem.problem]}})
    return encode_payload({**told, "data": data} if fits else told)
