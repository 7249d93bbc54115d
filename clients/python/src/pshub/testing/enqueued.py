"""What went into Redis as a job, in its order, whoever enqueued it: the test, the code under test, or a handler."""

from __future__ import annotations

import json
import threading
from typing import Any, NamedTuple

from ..hub.arguments import MISSING, Called, name_of
from .memory.server import MemoryRedis


class EnqueuedJob(NamedTuple):
    """An enqueued job."""

    id: str
    #: ``name:version``
    task: str
    args: Any
    queue: str
    #: When it is due, milliseconds since 1970 on the clock of the test.
    due_ms: int
    key: str | None = None


class EnqueuedJobs:
    def __init__(self, redis: MemoryRedis) -> None:
        self._redis = redis
        # Handlers look, too.
        self._lock = threading.Lock()
        self._jobs: list[EnqueuedJob] = []

    def of(self, task: Called | None = None) -> list[EnqueuedJob]:
        """Those of a task, or all."""
        with self._lock:
            while told := self._redis.ask(b"enqueued", b"%d" % len(self._jobs)):
                self._jobs += map(_read, told[::3], told[1::3], told[2::3])
            jobs = [*self._jobs]
        return [job for job in jobs if task is None or _is_of(str(name_of(task)), job.task)]

    def expect(self, task: Called, args: Any = MISSING) -> EnqueuedJob:
        candidates = self.of(task)
        for job in candidates:
            if args is MISSING or args == job.args:
                return job
        wanted = "" if args is MISSING else f" with {args!r}"
        there = [repr(job.args) for job in candidates] or sorted({job.task for job in self.of()}) or ["nothing"]
        raise AssertionError(f"No job of {name_of(task)} was enqueued{wanted}. Enqueued: {', '.join(there)}.")

    def by_id(self, id: str) -> EnqueuedJob | None:
        return next((job for job in self.of() if job.id == id), None)


def _read(queue: bytes, at_us: bytes, message: bytes) -> EnqueuedJob:
    read = json.loads(b"{" + message)
    job = read.get("job", {})
    due_ms = job.get("due", int(at_us) // 1000 + job.get("delay", 0))
    return EnqueuedJob(read["id"], read["task"], read.get("args"), queue.decode(), int(due_ms), job.get("key"))


def _is_of(meant: str, task: str) -> bool:
    """``name`` is any version of it, ``name:1`` any 1.x."""
    return task == meant or task.startswith(meant + ("." if ":" in meant else ":"))
