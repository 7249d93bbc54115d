"""What a worker measured of its tasks, for others to read: PROTOCOL.md, sections 11 to 11.2."""

from __future__ import annotations

import math
from typing import Any

from ..wire.clock import now_s
from ..wire.errors import ERROR_CLASSES, outcome_of
from ..wire.payload import published
from ..wire.phases import Phases
from .callers import Callers
from .histogram import Histogram

_SLICE_S = 10.0
_SLICES = 6
_MAX_WINDOWS = 200
_MAX_WINDOW_CHARS = 65_536
_MAX_CHARS = 524_288
_MAX_OWN_CODES = 50
_OTHER_CODES = "Other"


class Counts:
    """Calls that ended, by how; those that did not end well by code."""

    __slots__ = ("failed", "ok", "rejected")

    def __init__(self) -> None:
        self.ok = 0
        self.rejected: dict[str, int] = {}
        self.failed: dict[str, int] = {}

    def count(self, outcome: str, code: str | None, by: int = 1) -> str | None:
        """Returns the code under which it was counted: a handler can make up codes without end."""
        if code is None:
            self.ok += by
            return None
        if not (code in ERROR_CLASSES or code in self.failed or code in self.rejected):
            own = {*self.failed, *self.rejected} - {*ERROR_CLASSES, _OTHER_CODES}
            code = code if len(own) < _MAX_OWN_CODES else _OTHER_CODES
        codes = self.failed if outcome == "failed" else self.rejected
        codes[code] = codes.get(code, 0) + by
        return code

    def add(self, other: Counts) -> None:
        self.ok += other.ok
        for outcome, codes in (("rejected", other.rejected), ("failed", other.failed)):
            for code, count in codes.items():
                self.count(outcome, code, count)

    @property
    def total(self) -> int:
        return self.ok + sum(self.rejected.values()) + sum(self.failed.values())

    def to_json(self) -> dict[str, Any]:
        return {"ok": self.ok, "rejected": self.rejected, "failed": self.failed}


class _Window:
    """What ended in one slice of time, or in several."""

    __slots__ = ("callers", "counts", "number", "us")

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.counts = Counts()
        self.callers: dict[str, int] = {}
        self.us: tuple[Histogram, Histogram, Histogram] = (Histogram(), Histogram(), Histogram())

    def add(self, other: _Window) -> None:
        self.counts.add(other.counts)
        for name, count in other.callers.items():
            self.callers[name] = self.callers.get(name, 0) + count
        for mine, theirs in zip(self.us, other.us):
            mine.add(theirs)

    @property
    def total(self) -> int:
        return self.counts.total

    def to_json(self, of_one_task: bool = True) -> dict[str, Any]:
        us = {name: histogram.to_json() for name, histogram in zip(Phases._fields, self.us)}
        callers = {"callers": self.callers} if of_one_task else {}
        return {**self.counts.to_json(), **callers, "us": us}


class _TaskRecord:
    __slots__ = ("callers", "counts", "jobs", "slices")

    def __init__(self) -> None:
        self.counts = Counts()
        #: Of these the runs of jobs.
        self.jobs: Counts | None = None
        self.slices: list[_Window] = []
        self.callers = Callers()

    def count(self, outcome: str, code: str | None, number: int, from_: str, is_job: bool) -> _Window:
        if not self.slices or self.slices[-1].number != number:
            self.slices = [each for each in self.slices if each.number > number - _SLICES]
            self.slices.append(_Window(number))
        window = self.slices[-1]
        code = self.counts.count(outcome, code)
        window.counts.count(outcome, code)
        if is_job:
            if self.jobs is None:
                self.jobs = Counts()
            self.jobs.count(outcome, code)
        self.callers.count(from_, number, [each.callers for each in self.slices])
        return window


class TaskStats:
    """Per task: counts since the start, and counts and histograms of the last minute."""

    def __init__(self) -> None:
        self._started_at = now_s()
        self._tasks: dict[str, _TaskRecord] = {}
        self._changed_at = -math.inf

    def ran(self, task: str, code: str | None, status: int | None, us: Phases, from_: str | None = None, is_job: bool = False) -> None:
        """``status`` is what its handler chose, ``from_`` the calling service."""
        window = self._count(task, code, status, from_, is_job)
        for histogram, value in zip(window.us, us):
            histogram.record(value)

    def expired(self, task: str, from_: str | None = None) -> None:
        """A call was not started, because its time was up."""
        self._count(task, "Expired", None, from_)

    def _count(self, task: str, code: str | None, status: int | None, from_: str | None, is_job: bool = False) -> _Window:
        now = self._changed_at = now_s()
        record = self._tasks.get(task)
        if record is None:
            record = self._tasks[task] = _TaskRecord()
        return record.count(outcome_of(code, status), code, int(now // _SLICE_S), from_ or "", is_job)

    @property
    def is_changed(self) -> bool:
        """Also while something is still in a window."""
        return now_s() - self._changed_at <= (_SLICES + 1) * _SLICE_S

    def text(self) -> str:
        now = now_s()
        oldest = int(now // _SLICE_S) - _SLICES + 1
        windows: dict[str, _Window] = {}
        for task, record in self._tasks.items():
            window = _Window()
            for each in record.slices:
                if each.number >= oldest:
                    window.add(each)
            if window.total:
                windows[task] = window
        written: dict[str, dict[str, Any]] = {}
        others = _Window()
        chars = 0
        for task, window in sorted(windows.items(), key=lambda each: -each[1].total):
            told = window.to_json()
            chars += len(published(told))
            if len(written) < _MAX_WINDOWS and chars <= _MAX_WINDOW_CHARS:
                written[task] = told
            else:
                others.add(window)
        tasks: dict[str, Any] = {}
        chars = 0
        for task, record in self._tasks.items():
            callers = record.callers.totals
            chars += len(task) + 60 + 30 * (len(record.counts.failed) + len(record.counts.rejected)) + len(published(callers))
            # Names may be long and made up: they must not make all of it too long to be read.
            told_callers = {} if chars > _MAX_CHARS else {"callers": callers}
            told_jobs = {} if record.jobs is None else {"jobs": record.jobs.to_json()}
            entry: dict[str, Any] = {**record.counts.to_json(), **told_jobs, **told_callers}
            if task in written:
                entry["window"] = written[task]
            elif chars > _MAX_CHARS:
                continue
            tasks[task] = entry
        covered_s = min(now - self._started_at, now - oldest * _SLICE_S)
        value: dict[str, Any] = {"ms": max(1, round(covered_s * 1000)), "tasks": tasks}
        if others.total:
            value["others"] = others.to_json(of_one_task=False)
        return published(value)
