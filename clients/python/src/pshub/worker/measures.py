"""All that one worker measures of itself and its tasks for others to read."""

from __future__ import annotations

import os
from typing import Any

from ..catalogue.registrar import Measured
from ..figures.busy_share import BusyShare
from ..figures.recent_failures import RecentFailures
from ..figures.task_stats import TaskStats
from ..jobs.held_job import is_held_job
from ..wire.clock import now_s
from ..wire.errors import ToldError, is_expected, outcome_of
from ..wire.message import Request
from ..wire.phases import Phases
from ..wire.redis_clock import RedisClock
from .slots import Slots


class Measures:
    def __init__(self, slots: Slots, clock: RedisClock) -> None:
        self.counters = {"ok": 0, "rejected": 0, "failed": 0, "expired": 0, "malformed": 0, "unserved": 0}
        self._slots = slots
        self._clock = clock
        self._busy_share = BusyShare(slots.size)
        self._task_stats = TaskStats()
        self._failures = RecentFailures()
        self._must_repeat = False

    def ran(self, request: Request, error: ToldError | None, us: Phases) -> None:
        """A call ended that ran; ``error`` is what its caller is told, None when it ended well."""
        code, status = (error.code, error.status) if error else (None, None)
        self.counters[outcome_of(code, status)] += 1
        self._task_stats.ran(request.task, code, status, us, request.from_, is_held_job(request.held_id))
        # What handlers reject is no fault, and would leave no room for what is.
        if error is not None and not is_expected(error.code, error.status):
            self._keep_failure(request, error, us.exec)

    def expired(self, request: Request, error: ToldError) -> None:
        """A call was not started, because its time was up."""
        self._task_stats.expired(request.task, request.from_)
        self._keep_failure(request, error, 0)

    def stats(self, seen_ms: int, draining: bool) -> dict[str, Any]:
        """Of the worker itself, at a beat."""
        stats: dict[str, Any] = {
            "seen": seen_ms,
            "busy": self._slots.busy,
            "draining": draining,
            "counters": self.counters,
            "busyShare": self._busy_share.look(self._slots.used_s()),
        }
        rss = _rss_bytes()
        if rss is not None:
            stats["rssBytes"] = rss
        return stats

    def texts(self, is_all: bool) -> Measured:
        """What to publish of its tasks; all of it when ``is_all``, or when the last texts did not arrive."""
        is_all, self._must_repeat = is_all or self._must_repeat, False
        return Measured(
            self._task_stats.text() if is_all or self._task_stats.is_changed else None,
            self._failures.text() if is_all or self._failures.is_changed else None,
        )

    def repeat(self) -> None:
        """The last texts may not have arrived."""
        self._must_repeat = True

    def _keep_failure(self, request: Request, error: ToldError, exec_us: int) -> None:
        at_us = self._clock.at_us(now_s())
        self._failures.keep(request.task, request.id, at_us, error.code, error.message, request.from_, exec_us)


def _rss_bytes() -> int | None:
    """This process's memory, where the system tells."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None
