"""Error responses of web applications for failed calls: RFC 9457, ``application/problem+json``. clients/vectors/problems.json has examples."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from ..wire.errors import HubError, InvalidArgs

#: Of these the message is about what the visitor sent. What others say may have names of tasks, hosts and files in it.
_ABOUT_REQUEST = {"InvalidArgs", "PayloadTooLarge", "Overloaded", "NoSuchJob"}
_LONGEST_MS = 10 * 60_000
#: As of PutOff.
_LONGEST_WAIT_MS = 10 * 365 * 24 * 3600 * 1000


class HttpProblem(NamedTuple):
    """An error response for any framework."""

    status: int
    #: ``content-type``, and ``retry-after`` if a retry may succeed.
    headers: dict[str, str]
    #: The body, as JSON.
    body: dict[str, Any]


def problem_of(error: HubError) -> HttpProblem:
    """
    The response for the error of a call: its status, ``retry-after``, and a body of ``application/problem+json``. The body has the
    message and data only if they concern what the visitor sent, or if the handler chose a code of its own; otherwise it has the meaning
    of the code. Log the error itself.
    """
    is_own = error.code != type(error).code
    is_told = is_own or error.code in _ABOUT_REQUEST
    body: dict[str, Any] = {} if is_own else {"type": f"urn:problem-type:pshub:{error.code}"}
    body |= {"title": error.code if is_own else type(error).meaning, "status": error.http_status}
    if is_told:
        body["detail"] = error.message
    body |= {"code": error.code, "ran": error.ran, "retryable": error.retryable}
    if is_told and error.data is not None:
        body["data"] = error.data
    headers = {"content-type": "application/problem+json"}
    if error.retryable:
        headers["retry-after"] = str(_seconds_to_wait(error.data))
    return HttpProblem(error.http_status, headers, body)


def timeout_of(header: str | None, at_most: float | None = None) -> float | None:
    """
    Seconds that a call may take to answer a request: the header ``pshub-timeout-ms`` of the request, and at most ``at_most``. None
    without either.

    :raises InvalidArgs: when the header is not a whole number from 1 to 600000
    """
    if header is None:
        return at_most
    ms = int(header) if re.fullmatch("[0-9]{1,6}", header) else 0
    if not 1 <= ms <= _LONGEST_MS:
        raise InvalidArgs(f"The header pshub-timeout-ms must be a whole number from 1 to {_LONGEST_MS}, not {header[:80]!r}.")
    return ms / 1000 if at_most is None else min(ms / 1000, at_most)


def _seconds_to_wait(data: object) -> int:
    told = data if isinstance(data, dict) else {}
    waits = [told.get(name) for name in ("retryAfterMs", "waitMs")]
    numbers = [each for each in waits if isinstance(each, (int, float)) and each == each]
    return max(1, math.ceil(min(max(0, numbers[0]), _LONGEST_WAIT_MS) / 1000)) if numbers else 1
