"""How jobs end in this worker: each end is told to those who watch, and settled."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple

from ..figures.events import Events
from ..jobs.verdict import done_end, failed_end, unrun
from ..queue.job_queue import JobEnd
from ..task.task import Task
from ..wire.errors import told_error
from ..wire.message import Request
from .executor import Execution, Outcome


class JobEnds:
    def __init__(self, queue_name: str, tasks: Mapping[str, Task[Any]], events: Events, counters: Dict[str, int]) -> None:
        self._queue_name = queue_name
        self._tasks = tasks
        self._events = events
        self._counters = counters

    def expired(self, request: Request) -> JobEnd:
        """It waited for longer than anybody wants it."""
        self._counters["expired"] += 1
        self._events.emit("request:expired", queue=self._queue_name, task=request.task, id=request.id)
        return unrun(request.held_id, "expired")

    def unserved(self, request: Request, verdict: Tuple[str, str]) -> JobEnd:
        """No worker of this queue takes its task."""
        self._counters["unserved"] += 1
        self._tell_dead(request, verdict[1])
        return failed_end(request, None, told_error(*verdict), None)

    def ran(self, request: Request, outcome: Outcome, execution: Execution) -> Optional[JobEnd]:
        """None when it is done and nothing is left to do but to forget it."""
        if outcome.error is None:
            return done_end(request, outcome.result, self._queue_name)
        if execution.was_aborted:
            return unrun(request.held_id, "cancelled")
        end = failed_end(request, self._tasks.get(request.task), outcome.error, outcome.raised)
        if end.outcome == "dead":
            self._tell_dead(request, f"{outcome.error.own or outcome.error.code}: {outcome.error.message}")
        else:
            self._events.emit(
                "job:retried",
                queue=self._queue_name,
                task=request.task,
                id=request.id,
                attempt=(request.job or {}).get("tries", 0) + 1,
                delay_ms=end.delay_ms,
                code=outcome.error.code,
            )
        return end

    def _tell_dead(self, request: Request, reason: str) -> None:
        self._events.emit("job:dead", queue=self._queue_name, task=request.task, id=request.id, reason=reason)
