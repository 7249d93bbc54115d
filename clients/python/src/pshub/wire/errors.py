"""How a call can fail: one class per code. PROTOCOL.md, section 7; a test holds them against clients/vectors/errors.json."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Type

from .payload import encode_payload


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

    code, ran, retryable, http_status, meaning = "TaskFailed", "yes", False, 500, "The handler of the task failed."

    def __init__(
        self,
        message: Optional[str] = None,
        *,
        task: Optional[str] = None,
        id: Optional[str] = None,
        retryable: Optional[bool] = None,
        data: Any = None,
    ) -> None:
        self.message = self.meaning if message is None else message
        super().__init__(self.message)
        if retryable is not None:
            self.retryable = retryable
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
    code, ran, retryable, http_status, meaning = "NotEnqueued", "no", True, 503, "The request did not reach Redis."


class NoSuchTask(HubError):
    code, ran, retryable, http_status, meaning = "NoSuchTask", "no", False, 404, "No worker ever declared this task."


class NoWorkers(HubError):
    code, ran, retryable, http_status, meaning = "NoWorkers", "no", True, 503, "The task is known, but no live worker provides it."


class Overloaded(HubError):
    code, ran, retryable, http_status, meaning = "Overloaded", "no", True, 429, "The backlog is longer than the call can wait for."


class Expired(HubError):
    code, ran, retryable, http_status, meaning = "Expired", "no", True, 504, "The deadline passed while the request was waiting."


class InvalidArgs(HubError):
    code, ran, retryable, http_status, meaning = "InvalidArgs", "no", False, 400, "The arguments do not fit the schema of the task."


class PayloadTooLarge(HubError):
    code, ran, retryable, http_status, meaning = "PayloadTooLarge", "no", False, 413, "The arguments are larger than allowed."


class HubClosed(HubError):
    code, ran, retryable, http_status, meaning = "HubClosed", "no", False, 503, "The hub was closed before the request was sent."


class Timeout(HubError):
    code, ran, retryable, http_status, meaning = "Timeout", "maybe", False, 504, "No reply came before the deadline."


class WorkerLost(HubError):
    code, ran, retryable, http_status, meaning = "WorkerLost", "maybe", False, 502, "The worker that held the request died."


class OutcomeUnknown(HubError):
    code, ran, retryable, http_status = "OutcomeUnknown", "maybe", False, 502
    meaning = "The connection to Redis broke before it was known whether the request arrived."


class NoSuchJob(HubError):
    code, ran, retryable, http_status = "NoSuchJob", "maybe", False, 404
    meaning = "No job of this id is known: it was not tracked, or its record has gone."


class Aborted(HubError):
    code, ran, retryable, http_status, meaning = "Aborted", "maybe", False, 499, "The caller gave up waiting."


class TaskFailed(HubError):
    pass


class InvalidResult(HubError):
    code, ran, retryable, http_status = "InvalidResult", "yes", False, 500
    meaning = "The handler returned something that is not JSON, too large, or against its result schema."


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
    """
    Raised by a handler to say more than a message: whether a retry may help, and structured data for the caller. A job is tried again
    unless ``retryable`` is False; a call only where it is True.
    """

    def __init__(self, message: str, *, retryable: Optional[bool] = None, data: Any = None) -> None:
        super().__init__(message)
        self.retryable = retryable or False
        #: ``retryable`` was said to be False.
        self.is_final = retryable is False
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
