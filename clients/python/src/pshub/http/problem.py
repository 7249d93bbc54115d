"""What a web application answers when a call fails: RFC 9457, ``application/problem+json``. clients/vectors/problems.json has examples."""

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
    """An answer that says what went wrong, for any framework."""

    status: int
    #: ``content-type``, and ``retry-after`` where a later try may succeed.
    headers: dict[str, str]
    #: What is answered, as JSON.
    body: dict[str, Any]


def problem_of(error: HubError) -> HttpProblem:
    """
    The answer that fits the error of a call: its status, ``retry-after``, and a body of ``application/problem+json``.

    The message and data of an error are told where they are about what the visitor sent, or where the handler chose a code of its own; of
    any other it is what the code means. Log the error itself.
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
    How long a call may take that answers a request, in seconds: what the request's header ``pshub-timeout-ms`` says, and not more than
    ``at_most``. None: nobody says.

    :raises InvalidArgs: when the header is no whole number from 1 to 600000
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
