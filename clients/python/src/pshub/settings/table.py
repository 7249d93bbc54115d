"""Every setting there is, in one table."""

from __future__ import annotations

import re
import socket
from typing import Any

from ..redis.target import RedisTarget, check_target
from ..wire.keys import is_namespace, is_queue_name
from ..wire.names import is_build
from .kinds import Setting, digits, integer, none_or, seconds, text_of_length


class Settings:
    redis: RedisTarget
    namespace: str
    name: str
    queue: str
    slots: int
    #: How many of them may run jobs, which only get what calls leave idle. 0: this worker takes none. None: half, rounded up.
    job_slots: int | None
    max_payload_bytes: int
    max_backlog: int
    grace: float
    lease: float
    #: Where probes are answered over HTTP, on all addresses of the host; 0 takes a free port. None: nowhere.
    health_port: int | None
    #: Which build of the program the worker runs, as a git commit or the tag of an image. None: it does not say.
    build: str | None
    statsd: str | None


def _build(value: Any) -> str | None:
    return None if is_build(value) else "must be a string of 1 to 64 characters without control characters"


def _statsd(value: Any) -> str | None:
    fits = value is None or (isinstance(value, str) and re.fullmatch(r"[^\s:]+:[0-9]{1,5}", value))
    return None if fits else "must be host:port"


TABLE: dict[str, Setting] = {
    "redis": Setting(("hub", "worker"), "PSHUB_REDIS", "redis://127.0.0.1:6379", str, check_target),
    "namespace": Setting(
        ("hub", "worker"),
        "PSHUB_NAMESPACE",
        "pshub",
        str,
        lambda value: None if is_namespace(value) else "must be 1 to 32 letters, digits, and _ . -",
    ),
    "name": Setting(("hub", "worker"), "PSHUB_NAME", lambda: socket.gethostname()[:64], str, text_of_length(1, 64)),
    "queue": Setting(
        ("worker",),
        "PSHUB_QUEUE",
        "default",
        str,
        lambda value: None if is_queue_name(value) else "must be the name of one queue, 1 to 64 letters, digits, and _ . -",
    ),
    "slots": Setting(("worker",), "PSHUB_SLOTS", 4, digits, integer(1, 256)),
    "job_slots": Setting(("worker",), "PSHUB_JOB_SLOTS", None, digits, none_or(integer(0, 256))),
    "max_payload_bytes": Setting(("hub", "worker"), "PSHUB_MAX_PAYLOAD_BYTES", 1024 * 1024, digits, integer(1024, 64 * 1024 * 1024)),
    "max_backlog": Setting(("hub", "worker"), "PSHUB_MAX_BACKLOG", 10_000, digits, integer(1, 10_000_000)),
    "grace": Setting(("worker",), "PSHUB_GRACE_MS", 10.0, digits, seconds(0, 3600), 1000),
    # A beat is sent every second; with less, one that is late would pass for a death.
    "lease": Setting(("worker",), "PSHUB_LEASE_MS", 4.0, digits, seconds(2, 600), 1000),
    "health_port": Setting(("worker",), "PSHUB_HEALTH_PORT", None, digits, none_or(integer(0, 65_535))),
    "build": Setting(("worker",), "PSHUB_BUILD", None, str, none_or(_build)),
    "statsd": Setting(("hub", "worker"), "PSHUB_STATSD", None, str, _statsd),
}
