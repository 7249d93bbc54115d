"""Log lines of what happens, through the standard library's logger ``pshub``. No payload is ever in one."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import Any

from ..figures.events import Events
from ..redis.refusals import explained, is_about_rights
from ..wire.errors import ERROR_CLASSES

logger = logging.getLogger("pshub")

_DEBUG, _INFO, _WARN, _ERROR = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR
#: Level and text of the lines that say no more than their event; the same as in the other languages (clients/vectors/advice.json).
_LINES = {
    "call:settled": (_DEBUG, "call settled"),
    "call:retried": (_DEBUG, "retrying a failed call"),
    "request:expired": (_DEBUG, "request expired before it started"),
    "request:redelivered": (_DEBUG, "worker lost; another worker will run the request"),
    "jobs:enqueued": (_DEBUG, "jobs enqueued"),
    "job:putoff": (_DEBUG, "job delayed: it cannot run now"),
    "schedule:tick": (_DEBUG, "schedule is due"),
    "job:retried": (_INFO, "job failed; it will be retried"),
    "reply:late": (_INFO, "late reply: its call had already ended"),
    "worker:started": (_INFO, "worker started"),
    "worker:stopped": (_INFO, "worker stopped"),
    "queue:paused": (_INFO, "queue paused; running requests finish, no new ones are claimed"),
    "queue:resumed": (_INFO, "queue resumed"),
    "redis:up": (_INFO, "connected to Redis"),
    "schema:unused": (_WARN, "a schema from the registry cannot be checked here; only the worker checks it"),
    "registry:unreadable": (_WARN, "ignoring an unreadable record in Redis"),
    "task:conflict": (_WARN, "live workers declare this task with different schemas"),
    "request:malformed": (_WARN, "dropped a list entry that is not a request"),
    "request:handedback": (_WARN, "returned to the queue: only another worker has this task"),
    "loop:blocked": (_WARN, "event loop was blocked; nothing else could run"),
    "loop:stuck": (_WARN, "event loop is blocked"),
    "lease:lost": (_WARN, "lease expired; continuing under a new worker id"),
    "worker:lost": (_WARN, "worker lost; took over its requests"),
    "request:unserved": (_ERROR, "ended a request without a deadline: no worker of this queue provides its task"),
    "job:dead": (_ERROR, "job is dead; to list dead jobs: pshub dead"),
    "problem": (_ERROR, "problem"),
}


class Line:
    """A text with fields. Any formatter shows both, in one line but for a stack; the one of JSON lines as members."""

    def __init__(self, message: str, fields: Mapping[str, Any]) -> None:
        self.message = message
        self.fields = {name: value for name, value in fields.items() if value is not None}

    def __str__(self) -> str:
        stack = self.fields.get("stack")
        told = [f"{name}={_in_one_line(value)}" for name, value in self.fields.items() if name != "stack"]
        return " ".join([self.message, *told]) + (f"\n{stack}" if stack else "")


def _in_one_line(value: Any) -> str:
    """As it is, unless it would begin a line of its own, which need not be what it seems."""
    text = str(value)
    return text if text.isprintable() else json.dumps(text)


def log_events(events: Events) -> None:
    """Turns events into log lines; the one place that words them."""

    def teller(level: int, message: str) -> Any:
        return lambda event: _write(level, message, event)

    for name, (level, message) in _LINES.items():
        # Nearly nobody looks at these, and a listener costs each call something.
        if level > _DEBUG or logger.isEnabledFor(_DEBUG):
            events.on(name, teller(level, message))
    events.on("task:elsewhere", _task_elsewhere)
    events.on("task:settled", _task_settled)
    events.on("redis:down", _redis_down)


def log_probes(port: int) -> None:
    _write(_INFO, "probes are answered: /livez and /readyz", {"port": port})


def _write(level: int, message: str, fields: Mapping[str, Any], raised: BaseException | None = None) -> None:
    if logger.isEnabledFor(level):
        logger.log(level, Line(message, fields), exc_info=raised)


def _task_settled(event: dict[str, Any]) -> None:
    if event["ok"]:
        return
    fields = {name: event[name] for name in ("task", "queue", "id", "code")}
    fields["reason"] = _reason_of(event)
    is_own = event["code"] not in ERROR_CLASSES or event["code"] == "TaskFailed"
    if event["outcome"] == "rejected":
        # By its handler, which is no fault; or for arguments that do not fit.
        return _write(_INFO if is_own else _WARN, "task rejected", fields)
    # Where a handler failed is for its authors, who read this log; callers never see it.
    _write(_WARN, "task failed", fields, event.get("raised") if is_own else None)


def _reason_of(event: dict[str, Any]) -> str:
    """In words that are not the payload's: what a handler says is its author's choice, keys of arguments and results are not."""
    problems = event.get("problems")
    if not problems:
        return str(event["message"])
    told = (problem["message"] for problem in problems[:5])
    return "; ".join(dict.fromkeys("not JSON" if text.startswith("not JSON") else text for text in told))


def _task_elsewhere(event: dict[str, Any]) -> None:
    message = (
        f"Task {event['task']} is also served in queue {event['first']}, which had it first: calls go there while it has live "
        f"workers. To reach this worker, callers must pass queue {event['queue']}."
    )
    _write(_WARN, message, event)


def _redis_down(event: dict[str, Any]) -> None:
    fields = {**event, "reason": explained(event["reason"])}
    if is_about_rights(event["reason"]):
        _write(_ERROR, "Redis denies access; reconnecting", fields)
    else:
        _write(_WARN, "lost the connection to Redis; reconnecting", fields)


class JsonLines(logging.Formatter):
    """One JSON object per line, as the workers in other languages write them."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "level": record.levelname.lower(),
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "name": record.name,
        }
        told = record.msg
        if isinstance(told, Line):
            line.update(told.fields)
        line["msg"] = told.message if isinstance(told, Line) else record.getMessage()
        if record.exc_info:
            line["stack"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_to_stderr(level: str) -> None:
    """For a program that is nothing but a worker."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper() if level != "silent" else logging.CRITICAL + 1)
