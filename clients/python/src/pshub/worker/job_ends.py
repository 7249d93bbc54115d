"""How jobs end in this worker: each end is told to those who watch, and settled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..figures.events import Events
from ..jobs.verdict import Fate, done_end, failed_end, fates_of, unrun
from ..queue.job_queue import JobEnd
from ..task.task import Task
from ..wire.errors import told_error
from ..wire.message import Request
from ..wire.raised import cause_of
from .executor import Execution
from .handling import Outcome


class JobEnds:
    def __init__(self, queue_name: str, tasks: Mapping[str, Task[..., Any]], events: Events, counters: dict[str, int]) -> None:
        self._queue_name = queue_name
        self._tasks = tasks
        self._events = events
        self._counters = counters

    def expired(self, request: Request) -> JobEnd:
        """It waited for longer than anybody wants it."""
        self._counters["expired"] += 1
        self._events.emit("request:expired", queue=self._queue_name, task=request.task, id=request.id)
        return unrun(request.held_id, "expired")

    def unserved(self, request: Request, verdict: tuple[str, str]) -> JobEnd:
        """No worker of this queue takes its task."""
        self._counters["unserved"] += 1
        end = failed_end(request, None, told_error(*verdict), None)
        self._tell(request, end, *verdict)
        return end

    def ran(self, request: Request, outcome: Outcome, execution: Execution) -> JobEnd | None:
        """None when it is done and nothing is left to do but to forget it."""
        if outcome.error is None:
            return done_end(request, outcome.result, self._queue_name)
        error = outcome.error
        if outcome.refused is not None:
            end = outcome.refused
        elif execution.was_aborted and "run" not in (request.job or {}):
            return unrun(request.held_id, "cancelled")
        else:
            raised = None if outcome.raised is None else cause_of(outcome.raised)
            end = failed_end(request, self._tasks.get(request.task), error, raised)
        self._tell(request, end, error.code, error.message)
        return end

    def _tell(self, request: Request, end: JobEnd, code: str, message: str) -> None:
        """What became of a job that failed, or of each key of a run."""
        fates: list[Fate] = fates_of(request, end)
        for number, fate in enumerate(fates, 1):
            id = request.id if end.words is None else f"{request.id}-{number}"
            more: dict[str, Any]
            if fate.event == "job:dead":
                more = {"reason": f"{code}: {message}"}
            elif fate.event == "job:putoff":
                more = {"delay_ms": fate.delay_ms, "reason": message}
            else:
                more = {"attempt": fate.tries + 1, "delay_ms": fate.delay_ms, "code": code}
            self._events.emit(fate.event, queue=self._queue_name, task=request.task, id=id, **more)
