"""How a call can fail: one class per code, all made of one table."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Type

from .payload import encode_payload


class ErrorRow(NamedTuple):
    """``ran``: ``no``: the handler was certainly not started; ``maybe``: it may have been; ``yes``: it was."""

    ran: str
    retryable: bool
    http_status: int
    meaning: str


#: PROTOCOL.md, section 7; a test holds it against clients/vectors/errors.json.
ERROR_TABLE: Dict[str, ErrorRow] = {
    "NotEnqueued": ErrorRow("no", True, 503, "The request did not reach Redis."),
    "NoSuchTask": ErrorRow("no", False, 404, "No worker ever declared this task."),
    "NoWorkers": ErrorRow("no", True, 503, "The task is known, but no live worker provides it."),
    "Overloaded": ErrorRow("no", True, 429, "The backlog is longer than the call can wait for."),
    "Expired": ErrorRow("no", True, 504, "The deadline passed while the request was waiting."),
    "InvalidArgs": ErrorRow("no", False, 400, "The arguments do not fit the schema of the task."),
    "PayloadTooLarge": ErrorRow("no", False, 413, "The arguments are larger than allowed."),
    "HubClosed": ErrorRow("no", False, 503, "The hub was closed before the request was sent."),
    "Timeout": ErrorRow("maybe", False, 504, "No reply came before the deadline."),
    "WorkerLost": ErrorRow("maybe", False, 502, "The worker that held the request died."),
    "OutcomeUnknown": ErrorRow(
        "maybe", False, 502, "The connection to Redis broke before it was known whether the request arrived."
    ),
    "Aborted": ErrorRow("maybe", False, 499, "The caller gave up waiting."),
    "TaskFailed": ErrorRow("yes", False, 500, "The handler of the task failed."),
    "InvalidResult": ErrorRow(
        "yes", False, 500, "The handler returned something that is not JSON, too large, or against its result schema."
    ),
}


class HubError(Exception):
    """
    Every way in which a call can fail. Catch a subclass to decide by code; look at ``ran`` when all that counts is whether it is
    safe to call again.

    :ivar code: the name of the class
    :ivar ran: ``no``, ``maybe`` or ``yes``: whether the handler was started
    :ivar retryable: whether a later try may succeed
    :ivar data: structured details: ``{"problems": [...]}`` of invalid arguments, the handler's own of a failed task
    :ivar http_status: the HTTP status that fits
    :ivar task: ``name:version`` as far as it is known
    :ivar id: the request's id, once there was one
    """

    code = "TaskFailed"

    def __init__(
        self,
        message: Optional[str] = None,
        *,
        task: Optional[str] = None,
        id: Optional[str] = None,
        retryable: Optional[bool] = None,
        data: Any = None,
    ) -> None:
        row = ERROR_TABLE[self.code]
        self.message = row.meaning if message is None else message
        super().__init__(self.message)
        self.ran = row.ran
        self.http_status = row.http_status
        self.retryable = row.retryable if retryable is None else retryable
        self.data = data
        self.task = task
        self.id = id

    def to_json(self) -> Dict[str, Any]:
        """What may be told to others: no stack, no cause."""
        told = {"code": self.code, "message": self.message, "retryable": self.retryable}
        for name in ("task", "id", "data"):
            if getattr(self, name) is not None:
                told[name] = getattr(self, name)
        return told

    def __reduce__(self) -> Any:
        return (_rebuilt, (self.code, self.message, self.task, self.id, self.retryable, self.data))


class NotEnqueued(HubError):
    code = "NotEnqueued"


class NoSuchTask(HubError):
    code = "NoSuchTask"


class NoWorkers(HubError):
    code = "NoWorkers"


class Overloaded(HubError):
    code = "Overloaded"


class Expired(HubError):
    code = "Expired"


class InvalidArgs(HubError):
    code = "InvalidArgs"


class PayloadTooLarge(HubError):
    code = "PayloadTooLarge"


class HubClosed(HubError):
    code = "HubClosed"


class Timeout(HubError):
    code = "Timeout"


class WorkerLost(HubError):
    code = "WorkerLost"


class OutcomeUnknown(HubError):
    code = "OutcomeUnknown"


class Aborted(HubError):
    code = "Aborted"


class TaskFailed(HubError):
    code = "TaskFailed"


class InvalidResult(HubError):
    code = "InvalidResult"


ERROR_CLASSES: Dict[str, Type[HubError]] = {cls.code: cls for cls in HubError.__subclasses__()}


def hub_error(code: str, message: Optional[str] = None, **details: Any) -> HubError:
    """An error of this code; a code that this version does not know is a failed task as far as a caller can tell."""
    return ERROR_CLASSES.get(code, TaskFailed)(message, **details)


def _rebuilt(code: str, message: str, task: Any, id: Any, retryable: bool, data: Any) -> HubError:
    return hub_error(code, message, task=task, id=id, retryable=retryable, data=data)


def from_wire(error: Dict[str, Any], **details: Any) -> HubError:
    """The error of a reply."""
    retryable = error.get("retryable")
    if isinstance(retryable, bool):
        details["retryable"] = retryable
    return hub_error(error["code"], error["message"], data=error.get("data"), **details)


class ToldError(NamedTuple):
    """What the caller of a request is told of a failure."""

    code: str
    message: str
    #: All of it, as JSON.
    text: str


def told_error(code: str, message: str, retryable: bool = False) -> ToldError:
    return ToldError(code, message, encode_payload({"code": code, "message": message, "retryable": retryable}))


class TaskError(Exception):
    """Raised by a handler to say more than a message: whether a retry may help, and structured data for the caller."""

    def __init__(self, message: str, *, retryable: bool = False, data: Any = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.data = data


class ConfigError(Exception):
    """A setting, a declaration or a command line that cannot work; raised before anything is started."""


def problem_error(code: str, problems: List[Dict[str, str]], task: Optional[str], id: Optional[str] = None) -> HubError:
    """An InvalidArgs or InvalidResult whose message names each offending field."""
    what = "arguments" if code == "InvalidArgs" else "result"
    shown = "; ".join(f"{p['pointer'] or what} {p['message']}" for p in problems[:5])
    more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
    message = f"The {what} of {task or 'the task'}: {shown}{more}."
    return hub_error(code, message, task=task, id=id, data={"problems": problems})


def message_of(raised: BaseException) -> str:
    """Any exception as one sentence; its own methods may raise in turn."""
    try:
        return str(raised) or type(raised).__name__
    except Exception:
        return f"a {type(raised).__name__} that cannot be shown"
