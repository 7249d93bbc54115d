"""Log lines of what happens, through the standard library's logger ``pshub``. No payload is ever in one."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any, Dict

from ..figures.events import Events

logger = logging.getLogger("pshub")


def log_events(events: Events) -> None:
    def line(level: int, message: str, *names: str) -> Any:
        def write(event: Dict[str, Any]) -> None:
            if logger.isEnabledFor(level):
                told = {name: event[name] for name in names if event.get(name) is not None}
                logger.log(level, message, extra={"pshub": told})

        return write

    def settled(event: Dict[str, Any]) -> None:
        if event["ok"] or not logger.isEnabledFor(logging.WARNING):
            return
        told = {name: event[name] for name in ("task", "id", "code", "message")}
        raised = event.get("raised")
        logger.warning("task failed", extra={"pshub": told}, exc_info=raised)

    def elsewhere(event: Dict[str, Any]) -> None:
        message = (
            f"Task {event['task']} is served in queue {event['first']} too, which had it first: callers go there while it has live "
            f"workers. They reach this worker only by naming queue {event['queue']}."
        )
        logger.warning("%s", message, extra={"pshub": dict(event)})

    warn, info = logging.WARNING, logging.INFO
    events.on("redis:down", line(warn, "Redis is away", "role", "reason"))
    events.on("redis:up", line(info, "connected to Redis", "role"))
    events.on("problem", line(warn, "problem", "where", "reason"))
    events.on("schema:unused", line(warn, "a schema of the registry is not used", "task", "reason"))
    events.on("task:conflict", line(warn, "live workers declare the task with different schemas", "task", "queue", "other"))
    unreadable = "something in Redis cannot be read and counts as absent"
    events.on("registry:unreadable", line(warn, unreadable, "key", "field", "reason"))
    events.on("task:elsewhere", elsewhere)
    events.on("task:settled", settled)
    events.on("request:malformed", line(warn, "a list element that is not a request was dropped", "queue", "reason"))
    events.on("request:handedback", line(info, "put back for another worker", "queue", "task", "count"))
    events.on("request:unserved", line(warn, "no worker takes this task", "queue", "task", "code", "answered"))
    again = "its worker was lost; another one will run it"
    events.on("request:redelivered", line(logging.DEBUG, again, "queue", "task", "id", "losses"))
    dead = "a job was given up; it is kept with the dead ones"
    events.on("job:dead", line(logging.ERROR, dead, "queue", "task", "id", "reason"))
    ticked = "the time of a schedule came"
    events.on("schedule:tick", line(logging.DEBUG, ticked, "queue", "name", "task", "tick_ms", "is_skipped"))
    events.on("worker:started", line(info, "worker started", "worker", "queue", "slots", "tasks"))
    events.on("worker:stopped", line(info, "worker stopped", "worker", "queue", "handed_back", "abandoned"))
    paused = "the queue is paused; what is held is finished, nothing is taken"
    events.on("queue:paused", line(info, paused, "worker", "queue", "paused_ms"))
    events.on("queue:resumed", line(info, "the queue is served again", "worker", "queue"))
    events.on("worker:lost", line(warn, "took over from a lost worker", "worker", "queue", "adopted", "by"))
    events.on("lease:lost", line(warn, "the lease was lost; going on under a new id", "worker", "queue", "aborted"))
    events.on("reply:late", line(info, "a reply came too late", "id"))
    events.on("call:retried", line(info, "calling again", "task", "id", "next_id", "code"))


class JsonLines(logging.Formatter):
    """One JSON object per line, as the workers in other languages write them."""

    def format(self, record: logging.LogRecord) -> str:
        line: Dict[str, Any] = {
            "level": record.levelname.lower(),
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "name": record.name,
        }
        line.update(getattr(record, "pshub", {}))
        line["msg"] = record.getMessage()
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
