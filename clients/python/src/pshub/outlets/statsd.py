"""Metrics over plain UDP, with the names and tags of all languages."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from collections.abc import Mapping
from typing import Any

from ..figures.events import Events
from ..figures.task_stats import Counts
from ..wire.errors import ERROR_CLASSES, hub_error
from .metrics import line_of
from .statsd_socket import StatsdSocket

_MAX_PACKET = 1400
_FLUSH_S = 0.5
_CLOSE_PATIENCE_S = 1.0
#: Numbers the workers of this process that have gauges of their own.
_workers = itertools.count(1)


class StatsD:
    """Lines are collected into packets; a daemon that is away fails nothing. ``name`` is that of the hub or worker."""

    def __init__(self, address: str, name: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = StatsdSocket(host, int(port))
        self._name = name
        self._reset()

    def _reset(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        self._lock = threading.Lock()
        self._is_due = False

    def add(self, metric: str, value: float, tags: Mapping[str, Any]) -> None:
        line = line_of(metric, value, tags, self._name)
        with self._lock:
            if self._size + len(line) > _MAX_PACKET:
                self._send()
            self._lines.append(line)
            self._size += len(line) + 1
            if self._is_due:
                return
            self._is_due = True
        self._socket.open()
        try:
            # Events come on the thread of an event loop.
            asyncio.get_running_loop().call_later(_FLUSH_S, self.flush)
        except RuntimeError:
            self.flush()

    def flush(self) -> None:
        with self._lock:
            self._send()

    def close(self) -> None:
        """Sends what there is; takes a moment where the daemon's address is not known yet."""
        self.flush()
        self._socket.finish(_CLOSE_PATIENCE_S)

    def forked(self) -> None:
        """In the child of a fork: what was collected is the parent's to send."""
        self._reset()
        self._socket.forked()

    def _send(self) -> None:
        lines, self._lines, self._size = self._lines, [], 0
        self._is_due = False
        if lines:
            self._socket.send("\n".join(lines).encode("utf-8", "replace"))


#: Each of these events is one more of its metric.
_COUNTED = {
    "call:retried": "call.retried",
    "reply:late": "call.late_reply",
    "request:malformed": "worker.malformed",
    "request:redelivered": "worker.redelivered",
    "task:elsewhere": "worker.task_elsewhere",
    "job:putoff": "job.put_off",
    "job:dead": "job.dead",
    "schedule:tick": "job.schedule",
}


class _Subscriber:
    """What each event adds."""

    def __init__(self, client: StatsD, name: str) -> None:
        self._client = client
        self._name = name
        self._worker: str | None = None
        #: By task.
        self._counts: dict[str, Counts] = {}

    def listen(self, events: Events) -> None:
        for event, metric in _COUNTED.items():
            events.on(event, self._counting(metric))
        events.on("call:settled", self._call_settled)
        events.on("task:settled", self._task_settled)
        events.on("job:retried", lambda event: self._count("job.retried", {**event, "code": self._bounded(event)}))
        events.on("jobs:enqueued", lambda event: self._count("job.enqueued", event, event["count"]))
        events.on("worker:lost", lambda event: self._count("worker.adopted", event, event["adopted"]))
        # Without the task: what was pushed by hand may name anything.
        events.on("request:unserved", lambda event: self._count("worker.rejected", {"queue": event["queue"], "code": event["code"]}))
        events.on("request:expired", lambda event: self._expired(event, 1))
        events.on("claim:taken", lambda event: self._expired(event, event["expired"]))
        events.on("worker:beat", lambda event: self._gauges(event, event["slots"], event["busy"]))
        # A daemon repeats a gauge until it hears another one.
        events.on("worker:stopped", lambda event: self._gauges(event, 0, 0))

    def _counting(self, metric: str) -> Any:
        return lambda event: self._count(metric, event)

    def _count(self, metric: str, tags: Mapping[str, Any], by: int = 1) -> None:
        if by > 0:
            self._client.add(metric, by, tags)

    def _expired(self, event: dict[str, Any], by: int) -> None:
        self._count("worker.rejected", {"queue": event["queue"], "code": "Expired"}, by)

    def _call_settled(self, event: dict[str, Any]) -> None:
        # Without the name of what does not exist: it may be anything, each time another one.
        task = None if event["code"] == "NoSuchTask" else event["task"]
        tags = {"task": task, "code": self._bounded(event)}
        self._count(f"call.{event['outcome']}", tags)
        if _was_run(event["code"]):
            self._client.add("call.time", event["ms"], tags)

    def _task_settled(self, event: dict[str, Any]) -> None:
        tags = {"queue": event["queue"], "task": event["task"], "code": self._bounded(event)}
        us, add = event["us"], self._client.add
        add("queue.backlog_wait", us.backlog / 1000, tags)
        add("worker.queue_wait", us.queue / 1000, tags)
        if event["key_us"] is not None:
            add("job.key_wait", event["key_us"] / 1000, tags)
        if event["outcome"] != "ok":
            self._count(f"worker.{event['outcome']}", tags)
        if not _was_run(event["code"]):
            return
        if event["is_job"]:
            add("job.lateness", (us.backlog + us.queue) / 1000, tags)
        add("worker.exec", us.exec / 1000, tags)

    def _gauges(self, event: dict[str, Any], slots: int, busy: int) -> None:
        if self._worker is None:
            number = next(_workers)
            self._worker = f"{self._name}-{os.getpid()}" + (f"-{number}" if number > 1 else "")
        tags = {"queue": event["queue"], "worker": self._worker}
        self._client.add("worker.slots", slots, tags)
        self._client.add("worker.busy", busy, tags)

    def _bounded(self, event: dict[str, Any]) -> str | None:
        """The code as a tag: of a task at most as many as its counts have."""
        code: str | None = event["code"]
        if code is None or code in ERROR_CLASSES:
            return code
        return self._counts.setdefault(event["task"], Counts()).count("failed", code)


def _was_run(code: str | None) -> bool:
    return code is None or hub_error(code).ran != "no"


def send_metrics(events: Events, address: str | None, name: str) -> StatsD | None:
    """None without an address."""
    if address is None:
        return None
    client = StatsD(address, name)
    _Subscriber(client, name).listen(events)
    return client
