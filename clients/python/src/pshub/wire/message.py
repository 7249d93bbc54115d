"""The two messages on the wire, request and reply. PROTOCOL.md, sections 5 and 6."""

from __future__ import annotations

import json
import re
from typing import Any

from .errors import ToldError, hub_error
from .foreign import is_amount
from .job_part import JobPart, read_job_part
from .keys import Keys, is_id
from .payload import PayloadProblem, compact, decode_payload, encode_payload
from .phases import Phases
from .streams import Asked, read_asked, read_part

_LEADING = re.compile(r'\{"at":([0-9]+),"ttl":[0-9]+,"id":"([A-Za-z0-9_-]+)"')
_BEGINS_JOB = re.compile(_LEADING.pattern + r',"job":\{')
_BEGINS_IDEMPOTENT = re.compile(_LEADING.pattern + ',"idempotent":true,')
_REPLY_ID = re.compile(r'\{"id":"([A-Za-z0-9_-]+)"')
MAX_TASK_LENGTH = 128
_MAX_SAFE_INTEGER = 2**53 - 1


class MalformedMessage(ValueError):
    """Why a list element is not a request; its text is not repeated, because payloads never go to logs."""


#: A longer one is left out.
_MAX_TRACESTATE = 512


class Request:
    """A request as a worker sees it."""

    __slots__ = (
        "id", "held_id", "at_us", "ttl_ms", "task", "args", "hub_id", "from_", "traceparent", "tracestate", "idempotent",
        "losses", "may_have_run", "job", "then", "asked", "text",
    )  # fmt: skip

    #: What the reply is marked with: the message's own id.
    id: str
    #: Its name in the held hash: the same, unless the claim made one up.
    held_id: str
    #: Redis microseconds at the push; None in a message that did not go through the push function.
    at_us: int | None
    #: From ``at`` to the deadline; 0 is none.
    ttl_ms: float
    task: str
    args: Any
    #: Whose reply list to answer on; None when nobody waits.
    hub_id: str | None
    from_: str | None
    traceparent: str | None
    tracestate: str | None
    #: Its caller said that running it twice does no harm.
    idempotent: bool
    #: How many workers died holding it.
    losses: int
    #: An earlier worker may have started it.
    may_have_run: bool
    #: What it carries as a job; None when that is nothing but its arguments.
    job: JobPart | None
    #: The steps that follow it in a chain, unread.
    then: Any
    #: What it asks for beside its reply.
    asked: Asked | None
    #: The message as it was in the list.
    text: str


def request_body(id: str, task: str, idempotent: bool, args_json: str, tail: str) -> str:
    """Everything of a request that follows ``at`` and ``ttl``. Functions look for ``idempotent`` right behind ``id`` alone."""
    mark = '"idempotent":true,' if idempotent else ""
    return f'"id":"{id}",{mark}"task":"{task}","args":{args_json}{tail}'


def job_body(id: str, part: str | None, task: str, args_json: str, tail: str) -> str:
    """The same of a job; ``part`` is what it carries beside its arguments, as job_part_text() has it, if that is anything."""
    job = "" if part is None else f'"job":{part},'
    return f'"id":"{id}",{job}"task":"{task}","args":{args_json}{tail}'


def request_tail(result_queue: str | None, from_: str | None, traceparent: str | None, tracestate: str | None = None) -> str:
    """The constant end of all requests of one caller. Without ``result_queue`` nobody waits."""
    tail = "" if result_queue is None else f',"result_queue":{compact(result_queue)}'
    if from_ is not None:
        tail += f',"from":{compact(from_)}'
    if traceparent is not None:
        tail += f',"traceparent":{compact(traceparent)}'
    if tracestate is not None and len(tracestate) <= _MAX_TRACESTATE:
        tail += f',"tracestate":{compact(tracestate)}'
    return tail + "}"


def unstamped(ttl_ms: int, body: str) -> str:
    """The message as the push function gets it: it puts ``{"at":<now>,`` in front."""
    return f'"ttl":{ttl_ms},{body}'


def stamped(at: str, ttl_ms: int, body: str) -> str:
    """The message as it lies in the list."""
    return f'{{"at":{at},"ttl":{ttl_ms},{body}'


def _number(value: Any) -> float:
    """0 for what is not a number."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0


def decode_request(raw: Any, held_id: str | None, keys: Keys) -> Request:
    """Reads a claimed list element, bytes or text. Raises MalformedMessage with a reason that names no content."""
    try:
        text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
        value = decode_payload(text)
    except UnicodeDecodeError:
        raise MalformedMessage("not UTF-8") from None
    except PayloadProblem as problem:
        raise MalformedMessage(str(problem)) from None
    if not isinstance(value, dict):
        raise MalformedMessage("not a JSON object")
    request = Request()
    task = value.get("task")
    if not isinstance(task, str) or len(task) > MAX_TASK_LENGTH:
        raise MalformedMessage("no task name")
    id = value.get("id")
    own_id = id if is_id(id) else held_id
    if own_id is None:
        raise MalformedMessage("no id")
    request.hub_id = keys.hub_id_of(value.get("result_queue"))
    if request.hub_id is None and "result_queue" in value:
        raise MalformedMessage("result_queue is not a hub's reply list")
    at, ttl, losses = (_number(value.get(name)) for name in ("at", "ttl", "losses"))
    request.id = own_id
    request.held_id = held_id or leading_id(text) or own_id
    is_time = 0 < at <= _MAX_SAFE_INTEGER and at == int(at)
    request.at_us = int(at) if is_time else None
    request.ttl_ms = ttl if 0 < ttl < float("inf") else 0
    request.task = task
    request.args = value.get("args", {})
    from_, traceparent = value.get("from"), value.get("traceparent")
    request.from_ = from_[:64] if isinstance(from_, str) else None
    request.traceparent = traceparent[:64] if isinstance(traceparent, str) else None
    tracestate = value.get("tracestate")
    is_tracestate = isinstance(tracestate, str) and len(tracestate) <= _MAX_TRACESTATE
    request.tracestate = tracestate if is_tracestate else None
    # Counts where functions in Redis see it: they decide about it too.
    request.idempotent = value.get("idempotent") is True and _BEGINS_IDEMPOTENT.match(text) is not None
    request.losses = int(losses) if abs(losses) < 1e300 and losses == int(losses) else 0
    request.may_have_run = value.get("started") is True or request.losses > 0
    # As idempotent.
    request.job = read_job_part(value["job"]) if "job" in value and _BEGINS_JOB.match(text) else None
    request.then = value.get("then")
    request.asked = None if request.hub_id is None else read_asked(value)
    request.text = text
    return request


def leading_at(text: str) -> str:
    """The ``at`` of the leading fields, as it is written there; empty where there are none."""
    match = _LEADING.match(text)
    return match[1] if match else ""


def leading_id(text: str) -> str | None:
    """The id that the claim read: the one in the leading fields, whatever else the message says further on."""
    match = _LEADING.match(text)
    return match[2] if match else None


def _phases(us: Phases) -> str:
    return f'"us":{{"backlog":{us.backlog},"queue":{us.queue},"exec":{us.exec}}}'


def ok_reply(id: str, result_json: str, worker: str, us: Phases, chunks: int | None = None) -> str:
    """``chunks``: of a stream, how many were pushed before."""
    counted = "" if chunks is None else f'"chunks":{chunks},'
    return f'{{"id":"{id}","ok":true,"result":{result_json},{counted}"worker":"{worker}",{_phases(us)}}}'


def error_reply(request: Request, error: ToldError, worker: str, us: Phases | None) -> str:
    """The reply of a request that did not end well; its error goes through told() here, on whatever way it comes."""
    phases = f",{_phases(us)}" if us else ""
    return f'{{"id":"{request.id}","ok":false,"error":{told(request, error).text},"worker":"{worker}"{phases}}}'


def told(request: Request, error: ToldError) -> ToldError:
    """What its caller is told of an error: never that a request was certainly not run which an earlier worker may have started."""
    if not request.may_have_run or hub_error(error.code).ran != "no":
        return error
    message = f"An earlier worker may have run {request.task} before it stopped or crashed. It was not run again: {error.message}"
    said = {**json.loads(error.text), "code": "WorkerLost", "message": message, "retryable": False}
    return ToldError("WorkerLost", message, encode_payload(said))


def _are_phases(us: Any) -> bool:
    """Whether what a worker told can be reckoned with; it may be a program of any language."""
    return isinstance(us, dict) and all(is_amount(us.get(name)) for name in Phases._fields)


def decode_reply(raw: Any) -> dict[str, Any] | None:
    """Reads a reply, or what comes before one; None for anything that is neither."""
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    try:
        value = decode_payload(text)
    except PayloadProblem as problem:
        # Whose reply it is may still be read; its caller need not wait for the deadline.
        match = _REPLY_ID.match(text)
        if not match:
            return None
        message = f"The reply is invalid: {problem}."
        return {"id": match[1], "ok": False, "error": {"code": "InvalidResult", "message": message}}
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        return None
    if "ok" not in value and "error" not in value:
        return read_part(value)
    if "us" in value and not _are_phases(value["us"]):
        del value["us"]
    if value.get("ok") is True:
        return value
    error = value.get("error")
    if not isinstance(error, dict) or not isinstance(error.get("code"), str) or not isinstance(error.get("message"), str):
        return None
    value["ok"] = False
    return value
