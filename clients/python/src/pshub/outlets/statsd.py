"""Metrics over plain UDP, with the names and tags that README of the project lists."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from ..figures.events import Events
from ..figures.task_stats import Counts
from ..wire.errors import ERROR_CLASSES, hub_error
from .statsd_socket import StatsdSocket

_MAX_PACKET = 1400
_FLUSH_S = 0.5
_CLOSE_PATIENCE_S = 1.0


class StatsD:
    """Lines are collected into packets; a daemon that is away fails nothing. Tags are written as DogStatsD reads them."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = StatsdSocket(host, int(port))
        self._reset()

    def _reset(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        self._lock = threading.Lock()
        self._is_due = False

    def timing(self, name: str, ms: float, **tags: str) -> None:
        self._add(f"pshub.{name}:{ms:.3f}|ms", tags)

    def count(self, name: str, by: int = 1, **tags: str) -> None:
        self._add(f"pshub.{name}:{by}|c", tags)

    def gauge(self, name: str, value: float, **tags: str) -> None:
        self._add(f"pshub.{name}:{value:g}|g", tags)

    def _add(self, line: str, tags: dict[str, str]) -> None:
        if tags:
            line += "|#" + ",".join(f"{key}:{_clean(value)}" for key, value in tags.items())
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


def _clean(value: str) -> str:
    return "".join("_" if char in ":|,#@\n" else char for char in str(value))


def send_metrics(events: Events, address: str | None) -> StatsD | None:
    if address is None:
        return None
    client = StatsD(address)
    counts: dict[str, Counts] = {}

    def bounded(task: str, code: str) -> str:
        """Of a task at most as many codes as its counts have."""
        return code if code in ERROR_CLASSES else counts.setdefault(task, Counts()).count("failed", code) or code

    def was_run(code: str | None) -> bool:
        return code is None or hub_error(code).ran != "no"

    def call_settled(event: dict[str, Any]) -> None:
        task, code = event["task"], event["code"]
        if was_run(code):
            client.timing("call.time", event["ms"], task=task)
        # Without the name of what does not exist: it may be anything, each time another one.
        tags = {} if code == "NoSuchTask" else {"task": task}
        if code is not None:
            tags["code"] = bounded(task, code)
        client.count(f"call.{event['outcome']}", 1, **tags)

    def claim_taken(event: dict[str, Any]) -> None:
        client.gauge("queue.backlog", event["left"], queue=event["queue"])
        if event["expired"]:
            client.count("worker.rejected", event["expired"], queue=event["queue"], code="Expired")

    def task_settled(event: dict[str, Any]) -> None:
        tags = {"task": event["task"], "queue": event["queue"]}
        client.timing("queue.backlog_wait", event["us"].backlog / 1000, **tags)
        client.timing("worker.queue_wait", event["us"].queue / 1000, **tags)
        if event["key_us"] is not None:
            client.timing("job.key_wait", event["key_us"] / 1000, **tags)
        if event["code"] is not None:
            client.count(f"worker.{event['outcome']}", code=bounded(event["task"], event["code"]), **tags)
        if was_run(event["code"]):
            client.timing("worker.exec", event["us"].exec / 1000, **tags)

    events.on("call:settled", call_settled)
    events.on("reply:late", lambda event: client.count("call.late_reply"))
    events.on("queue:pushed", lambda event: client.gauge("queue.backlog", event["length"] + event["count"], queue=event["queue"]))
    events.on("claim:taken", claim_taken)
    events.on("task:elsewhere", lambda event: client.count("worker.task_elsewhere", queue=event["queue"], task=event["task"]))
    # Without its task: what was pushed by hand may name anything.
    events.on("request:unserved", lambda event: client.count("worker.rejected", queue=event["queue"], code=event["code"]))
    events.on("task:settled", task_settled)
    return client
