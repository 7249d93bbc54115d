"""
Runs one request to one outcome: on a thread of its own, or on the event loop of all handlers that are coroutines. Knows neither Redis nor
the registry.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextvars import Context as Variables
from queue import SimpleQueue
from typing import Any, NamedTuple

from ..task.task import Task
from ..wire.clock import now_s
from ..wire.deadlines import Deadlines
from ..wire.errors import HubError, hub_error
from ..wire.message import Request
from ..wire.streams import Progress
from .async_runs import AsyncRuns
from .context import Context, NestedCall
from .handling import Handling, OpenStreamOf, Outcome, given_up

#: After its deadline a handler that ignores it is waited for this long; then its slot is given to others.
ABANDON_AFTER_S = 1.0


class Execution(NamedTuple):
    #: None: its time was up before it was its turn, so it was not started.
    outcome: Outcome | None
    #: From the claim's arrival to the handler's start.
    queue_s: float
    exec_s: float
    #: Somebody gave it up while it ran.
    was_aborted: bool = False


class _Run:
    """One running request, with its deadline."""

    def __init__(self, executor: Executor, request: Request, task: Task[..., Any], received_at: float, end: float, done: Any) -> None:
        self.executor = executor
        self.request = request
        self.task = task
        self.received_at = received_at
        self.end = self.deadline = end
        self.done: Callable[[Execution], None] = done
        self.context = Context(request, end, executor.nested_call, executor.tell)
        self.started_at: float | None = None
        self.over = False
        self.is_late = False

    def expire(self) -> None:
        """The deadline has come: the handler is told, and given up a little later."""
        reason = hub_error("Timeout", f"{self.request.task} did not finish before its deadline.")
        if not self.is_late:
            self.is_late = True
            self.context._abort(reason)
            self.deadline = now_s() + ABANDON_AFTER_S
            self.executor.deadlines.add(self)
        else:
            self.executor.abandon(self, reason)


class Executor:
    """All but the handlers themselves runs on the worker's own thread; ``post`` brings what they return back to it."""

    def __init__(
        self,
        tasks: Mapping[str, Task[..., Any]],
        slots: int,
        max_payload_bytes: int,
        post: Callable[..., None],
        nested_call: NestedCall,
        async_runs: AsyncRuns,
        open_stream: OpenStreamOf,
        tell: Callable[[Request, Context, Progress], None],
    ) -> None:
        """``tell`` is told how far runs are."""
        self._tasks = tasks
        self._slots = slots
        self._handling = Handling(max_payload_bytes, open_stream)
        self._async_runs = async_runs
        self._post = post
        self.nested_call = nested_call
        self.tell = tell
        self.deadlines = Deadlines()
        self._running: dict[str, _Run] = {}
        self._jobs: SimpleQueue[_Run | None] = SimpleQueue()
        self._threads = 0
        #: Threads that run something, also what was given up.
        self._occupied = 0

    def has(self, task: str) -> bool:
        return task in self._tasks

    def start(self, request: Request, received_at: float, remaining_s: float, done: Callable[[Execution], None]) -> None:
        """Runs a request that came at ``received_at`` with so much time left. ``done`` is called once, on the worker's thread."""
        end = received_at + remaining_s
        run = _Run(self, request, self._tasks[request.task], received_at, end, done)
        if now_s() >= end:
            done(Execution(None, 0.0, 0.0))
            return
        self._running[request.held_id] = run
        self.deadlines.add(run)
        if run.task.is_async:
            self._start_async(run)
            return
        self._occupied += 1
        if self._occupied > self._threads:
            self._threads += 1
            threading.Thread(target=self._serve, name=f"pshub-slot-{self._threads}", daemon=True).start()
        self._jobs.put(run)

    def abort(self, id: str, reason: HubError) -> None:
        """Tells a handler to stop; unknown ids are ignored."""
        run = self._running.get(id)
        if run is not None:
            run.context._abort(reason)

    def abandon_all(self, reason: HubError) -> int:
        """Ends everything that still runs, as far as anybody waits for it."""
        running = list(self._running.values())
        for run in running:
            # In this order: what a handler returns because it was told to stop must not pass for a result.
            self.abandon(run, reason)
            run.context._abort(reason)
        return len(running)

    def abandon(self, run: _Run, reason: HubError) -> None:
        started_at = run.started_at or now_s()
        self._end(run, Execution(given_up(reason), started_at - run.received_at, now_s() - started_at))

    def stop(self) -> None:
        """Threads end when they have nothing to do; those whose handlers never return end with the process."""
        self.deadlines.stop()
        for _ in range(self._threads):
            self._jobs.put(None)

    def _end(self, run: _Run, execution: Execution) -> None:
        if run.over:
            return
        run.over = run.context.is_over = True
        del self._running[run.request.held_id]
        self.deadlines.delete(run)
        reason = run.context.reason
        run.done(execution._replace(was_aborted=reason is not None and reason.code == "Aborted"))

    def _returned(self, run: _Run, execution: Execution) -> None:
        self._occupied -= 1
        if self._threads > self._slots:
            # One more than slots, made while a handler was given up that has returned after all.
            self._threads -= 1
            self._jobs.put(None)
        self._end(run, execution)

    # On the slots' threads.

    def _serve(self) -> None:
        jobs, post = self._jobs, self._post
        while True:
            run = jobs.get()
            if run is None:
                return
            started_at = run.started_at = now_s()
            outcome = None
            if started_at < run.end and not run.over:
                # Each in a context of its own: no handler sees what another one left there.
                outcome = Variables().run(self._handling.run, run.task, run.request, run.context)
            ended_at = now_s()
            post(self._returned, run, Execution(outcome, started_at - run.received_at, ended_at - started_at))
            # The next wait may be long, and arguments large.
            del run, outcome

    # On the thread of the coroutines.

    def _start_async(self, run: _Run) -> None:
        def ended(outcome: Outcome | None) -> None:
            started_at, reason = run.started_at, run.context.reason
            if started_at is None and reason is not None:
                outcome = given_up(reason)
            ended_at = now_s()
            started_at = started_at or ended_at
            self._post(self._end, run, Execution(outcome, started_at - run.received_at, ended_at - started_at))

        run.context._bind(self._async_runs.start(run.request.task, lambda: self._run_async(run), ended))

    async def _run_async(self, run: _Run) -> Outcome | None:
        started_at = run.started_at = now_s()
        if started_at >= run.end or run.over:
            return None
        run.context._loop_thread = threading.get_ident()
        return await self._handling.run_async(run.task, run.request, run.context)
