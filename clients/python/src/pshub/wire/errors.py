"""How a call can fail: one class per code. PROTOCOL.md, section 7; a test holds them against clients/vectors/errors.json."""

from __future__ import annotations

import concurrent.futures
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from .payload import encode_payload

if TYPE_CHECKING:
    from typing import TypeGuard


class HubError(Exception):
    """
    Every way in which a call can fail. Catch a subclass to decide by code; check ``ran`` if you only need to know whether repeating is
    safe.

    :ivar code: the name of the class; for a ``TaskFailed`` the code that its handler chose, if any
    :ivar ran: ``no``, ``maybe`` or ``yes``: whether the handler was started
    :ivar retryable: whether a retry may succeed
    :ivar data: structured details: ``{"problems": [...]}`` for invalid arguments, the handler's own for a failed task
    :ivar http_status: HTTP status of this error; for a ``TaskFailed`` the one that its handler chose, if any
    :ivar task: ``name:version``, as far as it is known
    :ivar id: the request id, if there was a request
    """

    code, ran, retryable, http_status, meaning = "TaskFailed", "yes", False, 500, "The handler of the task failed."

    def __init__(
        self,
        message: str | None = None,
        *,
        task: str | None = None,
        id: str | None = None,
        retryable: bool | None = None,
        data: Any = None,
        ran: str | None = None,
    ) -> None:
        self.message = self.meaning if message is None else message
        super().__init__(self.message)
        if ran is not None:
            self.ran = ran
        if retryable is not None:
            self.retryable = retryable
        self.data = data
        self.task = task
        self.id = id

    def to_json(self) -> dict[str, Any]:
        """The fields that others may see: no stack, no cause."""
        told = {"code": self.code, "message": self.message, "ran": self.ran, "retryable": self.retryable}
        for name in ("task", "id", "data"):
            if getattr(self, name) is not None:
                told[name] = getattr(self, name)
        return told

    @property
    def kind(self) -> str:
        """The code in the table of pshub: ``TaskFailed`` if the handler chose its own."""
        return type(self).code

    def __reduce__(self) -> Any:
        return (hub_error, (self.kind, self.message), self.__dict__)


class NotEnqueued(HubError):
    code, ran, retryable, http_status, meaning = "NotEnqueued", "no", True, 503, "The request did not reach Redis."


class NoSuchTask(HubError):
    code, ran, retryable, http_status, meaning = "NoSuchTask", "no", False, 404, "No worker ever declared this task."


class NoWorkers(HubError):
    code, ran, retryable, http_status, meaning = "NoWorkers", "no", True, 503, "The task is known, but no live worker provides it."


class Overloaded(HubError):
    code, ran, retryable, http_status = "Overloaded", "no", True, 429
    meaning = "The queue is full, or too long for the call to finish before its deadline."


class Expired(HubError):
    code, ran, retryable, http_status, meaning = "Expired", "no", True, 504, "The deadline passed while the request was waiting."


class InvalidArgs(HubError):
    code, ran, retryable, http_status, meaning = "InvalidArgs", "no", False, 400, "The arguments do not match the schema of the task."


class PayloadTooLarge(HubError):
    code, ran, retryable, http_status, meaning = "PayloadTooLarge", "no", False, 413, "The arguments are larger than allowed."


class HubClosed(HubError):
    code, ran, retryable, http_status, meaning = "HubClosed", "no", False, 503, "The hub was closed before the request was sent."


class Timeout(HubError, TimeoutError):
    """Also a ``TimeoutError``."""

    code, ran, retryable, http_status, meaning = "Timeout", "maybe", False, 504, "No reply came before the deadline."


class WorkerLost(HubError):
    code, ran, retryable, http_status, meaning = "WorkerLost", "maybe", False, 502, "The worker crashed or lost its lease while it held the request."


class OutcomeUnknown(HubError):
    code, ran, retryable, http_status = "OutcomeUnknown", "maybe", False, 502
    meaning = "The connection to Redis broke, and it is unknown whether the request arrived."


class NoSuchJob(HubError):
    code, ran, retryable, http_status = "NoSuchJob", "maybe", False, 404
    meaning = "There is no record of a job with this id: it was not tracked, or the record has expired."


class Aborted(HubError, concurrent.futures.CancelledError):
    """Also a ``CancelledError`` of ``concurrent.futures``."""

    code, ran, retryable, http_status, meaning = "Aborted", "maybe", False, 499, "The caller stopped waiting."


class TaskFailed(HubError):
    """The handler failed. It can choose a code and an HTTP status with ``TaskError``."""


class InvalidResult(HubError):
    code, ran, retryable, http_status = "InvalidResult", "yes", False, 500
    meaning = "The result is not JSON, is too large, or does not match the result schema."


ERROR_CLASSES: dict[str, type[HubError]] = {cls.code: cls for cls in HubError.__subclasses__()}


def hub_error(code: str, message: str | None = None, **details: Any) -> HubError:
    """An error of this code; a code that this version does not know is a failed task as far as a caller can tell."""
    return ERROR_CLASSES.get(code, TaskFailed)(message, **details)


_OWN_CODE = re.compile("[A-Z][A-Za-z0-9]{0,63}")


def is_own_code(code: Any) -> bool:
    """What a handler may call a failure of its own: short, and never what pshub says itself."""
    return isinstance(code, str) and code not in ERROR_CLASSES and _OWN_CODE.fullmatch(code) is not None


def _why_not_own(code: Any) -> str:
    if isinstance(code, str) and code in ERROR_CLASSES:
        return f"{code} is a code that pshub itself uses. Choose another one, such as NoSuchCity."
    form = "must start with a capital letter and have at most 64 letters and digits, such as NoSuchCity"
    return f"The code of a TaskError {form}; it is {_shown(code)}."


def _shown(given: Any) -> str:
    """What somebody gave in the place of something else: a text in quotes, cut where it is long."""
    text = json.dumps(given, ensure_ascii=False) if isinstance(given, str) else repr(given)
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…"


_MOST_SHOWN = 80


def is_failed_status(status: Any) -> TypeGuard[float]:
    return isinstance(status, (int, float)) and not isinstance(status, bool) and 400 <= status <= 599 and status == int(status)


def from_wire(error: dict[str, Any], **details: Any) -> HubError:
    """The error of a reply."""
    retryable, code, status = error.get("retryable"), error["code"], error.get("status")
    if isinstance(retryable, bool):
        details["retryable"] = retryable
    rebuilt = hub_error(code, error["message"], data=error.get("data"), **details)
    if isinstance(rebuilt, TaskFailed):
        if is_own_code(code):
            rebuilt.code = code
        if is_failed_status(status):
            rebuilt.http_status = int(status)
    return rebuilt


class ToldError(NamedTuple):
    """What the caller of a request is told of a failure."""

    #: One of pshub's own, or the one that the handler chose.
    code: str
    message: str
    #: All of it, as JSON.
    text: str
    #: The HTTP status that the handler chose.
    status: int | None = None


def told_error(code: str, message: str, retryable: bool = False) -> ToldError:
    return ToldError(code, message, encode_payload({"code": code, "message": message, "retryable": retryable}))


def outcome_of(code: str | None, status: int | None = None) -> str:
    """
    How a call or job counts that ended with this code, and the status that its handler chose; None: it ended well. ``rejected``:
    certainly not run, or turned away by its handler with a status under 500. ``failed``: all else.
    """
    if code is None:
        return "ok"
    kind = ERROR_CLASSES.get(code, TaskFailed)
    return "rejected" if kind.ran == "no" or is_expected(code, status) else "failed"


def is_expected(code: str, status: int | None) -> bool:
    """Rejected by its handler, which is no fault of anybody's."""
    return ERROR_CLASSES.get(code, TaskFailed) is TaskFailed and (status or 500) < 500


class ConfigError(Exception):
    """An invalid setting, declaration or command line; raised before anything is started."""


class TaskError(Exception):
    """
    Raise it in a handler to say more than a message. The caller gets a ``TaskFailed`` with all of it.

    :param code: a code for callers, such as ``NoSuchCity``: a capital letter, then letters and digits, at most 64. Default:
      ``TaskFailed``
    :param http_status: HTTP status, 400 to 599. Default: 500. Under 500 it is an expected failure: the call counts as rejected
    :param retryable: whether a retry may help. A job is retried unless this is False; a call only if it is True
    :param data: structured data for the caller
    :raises ConfigError: for an invalid code, a code of pshub itself, or an invalid status
    """

    # Also of a subclass whose own __init__ leaves ours out, and of one that says them once for all its instances.
    code: str = "TaskFailed"
    http_status: int | None = None
    retryable: bool = False
    #: ``retryable`` was set to False.
    is_final: bool = False
    data: Any = None

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        http_status: int | None = None,
        retryable: bool | None = None,
        data: Any = None,
    ) -> None:
        super().__init__(message)
        code = self.code if code is None else code
        http_status = self.http_status if http_status is None else http_status
        if code != "TaskFailed" and not is_own_code(code):
            raise ConfigError(_why_not_own(code))
        if http_status is not None and not (isinstance(http_status, int) and is_failed_status(http_status)):
            raise ConfigError(f"The http_status of a TaskError must be a whole number from 400 to 599, not {_shown(http_status)}.")
        self.code = code
        self.http_status = None if http_status is None else int(http_status)
        if retryable is not None:
            self.retryable = retryable
            self.is_final = not retryable
        if data is not None:
            self.data = data


class PutOff(Exception):
    """
    Raise it in a handler to delay a request: a job waits for ``delay_ms``, which does not count as a try. A call does not wait: it fails
    as ``TaskFailed``, with ``data["retryAfterMs"]``.

    :param delay_ms: milliseconds
    :raises ConfigError: for a delay that is not 0 to ten years in milliseconds
    """

    def __init__(self, delay_ms: float, message: str = "The task cannot run now; try again later.") -> None:
        super().__init__(message)
        is_number = isinstance(delay_ms, (int, float)) and not isinstance(delay_ms, bool)
        if not is_number or not 0 <= delay_ms <= _LONGEST_PUT_OFF_MS:
            raise ConfigError(f"The delay of a PutOff must be 0 to {_LONGEST_PUT_OFF_MS} ms, not {_shown(delay_ms)}.")
        self.delay_ms = delay_ms


_LONGEST_PUT_OFF_MS = 10 * 365 * 24 * 3600 * 1000


def why_keyed(task: str) -> str:
    """Why a keyed task takes no calls."""
    why = f"{task} is keyed and takes no calls: a call would run beside the jobs of its key"
    return f"{why}. Enqueue a job with a key, as in 'pshub enqueue {task} --key order-17'."


def problem_error(code: str, problems: list[dict[str, str]], task: str | None, id: str | None = None) -> HubError:
    """An InvalidArgs or InvalidResult whose message names each offending field."""
    what = "arguments" if code == "InvalidArgs" else "result"
    shown = "; ".join(f"{p['pointer'] or what} {p['message']}" for p in problems[:5])
    more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
    message = f"The {what} of {task or 'the task'}: {shown}{more}."
    return hub_error(code, message, task=task, id=id, data={"problems": problems})
