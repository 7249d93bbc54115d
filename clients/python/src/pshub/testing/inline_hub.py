"""A hub that runs tasks in the caller, for tests that have no Redis."""

from __future__ import annotations

import json
import time
from typing import Any

from ..hub.arguments import MISSING, Called, CallOptions, encode_args, name_of, reader_of, serialized, wrong_call
from ..hub.calling import Calling
from ..hub.resolver import Route
from ..jobs.enqueue_options import place_of, shape_of
from ..jobs.verdict import failed_end
from ..task.task import Task
from ..wire.errors import ConfigError, HubClosed, NoSuchTask
from ..wire.ids import new_id
from ..wire.job_part import job_part_text
from ..wire.message import job_body, request_body, request_tail, stamped
from ..wire.names import newest_first, parse_called_name
from ..wire.payload import decode_payload
from ..worker.handling import Outcome
from .inline_job import EnqueuedJob, InlineJob, JobRecord
from .running import Running, error_of, request_of

_PRIORITIES = {"high": 0, None: 1, "low": 2}
#: What needs a Redis: said by name, where an AttributeError would say less.
_ABSENT = (
    "batch", "cancel_job", "chain", "dead", "job", "key", "pause", "resume", "schedule", "schedules", "submit",
)  # fmt: skip


class InlineHub(Calling):
    """
    Has what code under test calls of a ``Hub``: ``call``, ``enqueue`` and ``enqueue_many``, with the same checks of names, arguments,
    results and options, and the same errors. Tasks run in the caller: there is no Redis, no worker, no thread, no deadline:
    the ``timeout`` of a call is what ``ctx.remaining`` begins with.

    :param tasks: what ``@task`` made: those that there are
    :param jobs: ``"wait"``: they run in ``drain``; ``"inline"``: within ``enqueue``, which raises what their function raised. Default wait
    :param queue: in which its tasks are. Default ``default``
    :param max_payload_bytes: largest arguments and results. Default 1 MiB
    :raises ConfigError: for a task that merges its jobs, and for what is no task
    """

    def __init__(self, *tasks: Task[..., Any], jobs: str = "wait", queue: str = "default", max_payload_bytes: int = 1 << 20) -> None:
        if jobs not in ("wait", "inline"):
            raise ConfigError(f"jobs must be 'wait' or 'inline', not {jobs!r}.")
        for each in tasks:
            if not isinstance(each, Task):
                raise ConfigError(f"InlineHub is given what @task made, not {each!r}.")
            if each.keyed == "merged":
                raise ConfigError(f"{each.name.full} merges its jobs, which happens in Redis: test it with one.")
        self._tasks = {each.name.full: each for each in tasks}
        self._is_inline = jobs == "inline"
        self._queue = queue
        self._max_payload_bytes = max_payload_bytes
        self._running = Running(max_payload_bytes, self.call)
        self._jobs: list[JobRecord] = []
        self._ahead_ms = 0.0
        self._is_closed = False

    def __getattr__(self, name: str) -> Any:
        if name in _ABSENT:
            raise ConfigError(f"InlineHub has no {name}(): that happens in Redis. Test it with one.")
        raise AttributeError(name)

    def _call(self, task: Called, args: Any, options: CallOptions) -> Any:
        """Runs a task. ``timeout`` is what ``ctx.remaining`` begins with."""
        called = name_of(task)
        wrong = wrong_call(called, options)
        if wrong is not None:
            raise wrong
        found = self._find(called, options.queue)
        if found is None:
            raise self._no_such_task(called)
        text = encode_args(self._route_of(found), serialized(task, args), self._max_payload_bytes)
        body = request_body(new_id(), found.name.full, False, text, request_tail(None, None, options.traceparent, options.tracestate))
        limit_s = found.timeout if options.timeout is None else options.timeout
        request = request_of(stamped(f"{self.now_ms}000", max(1, round(limit_s * 1000)), body))
        outcome = self._running.run(found, request, limit_s, options.on_progress)
        if outcome.error is not None:
            raise error_of(outcome.error, request) from outcome.raised
        result = decode_payload(outcome.result)
        read = reader_of(task)
        return result if read is None else read(result)

    def enqueue(self, task: Called, args: Any = {}, /, **options: Any) -> InlineJob:  # noqa: B006
        """Takes a job, as ``Hub.enqueue``. It is run by ``drain`` when it is due; or now, of a hub whose jobs are inline."""
        if self._is_closed:
            raise HubClosed("This hub was closed; make a new one.")
        name = name_of(task)
        queue, _ = place_of(str(name), options)
        found = self._find(name, queue)
        if found is None and (queue is None or queue == self._queue):
            raise self._no_such_task(name)
        full = found.name.full if found else str(name)
        text = encode_args(self._route_of(found, full), serialized(task, args), self._max_payload_bytes)
        part, ttl_ms = shape_of(full, text, options, found.keyed if found else None)
        job, is_twin = self._put(full, text, dict(part or {}), ttl_ms, queue or self._queue)
        if self._is_inline and not is_twin and job.due_ms <= self.now_ms and found is not None:
            outcome = self._run_job(job, found)
            if outcome.error is not None:
                raise outcome.raised or error_of(outcome.error, request_of(job.text))
        return InlineJob(job, is_twin)

    def enqueue_many(self, entries: Any, /, **options: Any) -> list[InlineJob]:
        """The same of several: ``(task, args, options)`` each."""
        return [self.enqueue(*entry[:2], **{**options, **(entry[2] if len(entry) > 2 else {})}) for entry in entries]

    def enqueued(self, task: Called | None = None) -> list[EnqueuedJob]:
        """The jobs that were enqueued so far, of a task (``name`` of any version) or all: the first one first."""
        jobs = [job.enqueued for job in self._jobs]
        return [job for job in jobs if task is None or _is_of(str(name_of(task)), job.task)]

    def expect_enqueued(self, task: Called, args: Any = MISSING) -> EnqueuedJob:
        """
        Looks for a job that was enqueued with these arguments, or with any; ``unittest.mock.ANY`` may stand in them. Returns the first one.

        :raises AssertionError: when there is none; it says what there is
        """
        candidates = self.enqueued(task)
        for job in candidates:
            if args is MISSING or args == job.args:
                return job
        wanted = "" if args is MISSING else f" with {args!r}"
        there = [repr(job.args) for job in candidates] or [job.task for job in self.enqueued()] or ["nothing"]
        raise AssertionError(f"No job of {name_of(task)} was enqueued{wanted}. Enqueued: {', '.join(there)}.")

    def drain(self) -> int:
        """
        Runs the jobs that are due, and those that they enqueue, until none is left. One that fails is tried again when that is due, as often
        and as late as its task says. Returns how many runs there were. Jobs in queues of others, without a task here, stay.
        """
        runs = 0
        while (job := self._next()) is not None:
            self._run_job(job, self._tasks[job.enqueued.task])
            runs += 1
        return runs

    def advance(self, seconds: float) -> None:
        """Moves the clock of the hub on: what is due by then is run by the next ``drain``."""
        if not seconds >= 0:
            raise ConfigError(f"advance() takes seconds from 0, not {seconds!r}.")
        self._ahead_ms += seconds * 1000

    @property
    def now_ms(self) -> int:
        """Milliseconds since 1970 on the clock of this hub."""
        return int(time.time() * 1000 + self._ahead_ms)

    @property
    def dead_jobs(self) -> list[InlineJob]:
        """Those that were given up."""
        return [InlineJob(job) for job in self._jobs if job.state == "dead"]

    def close(self) -> None:
        self._is_closed = True

    def __enter__(self) -> InlineHub:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _find(self, called: Any, queue: str | None) -> Task[..., Any] | None:
        wanted = parse_called_name(called)
        if self._is_closed:
            raise HubClosed("This hub was closed; make a new one.")
        if wanted is None:
            raise NoSuchTask(f"The task must be a name like my_task:1.0, or what @task made, not {str(called)[:120]!r}.")
        if queue is not None and queue != self._queue:
            return None
        own = [each for each in self._tasks.values() if each.name.name == wanted.name]
        fitting = [each for each in own if wanted.major in (None, each.name.major) and wanted.minor in (None, each.name.minor)]
        return min(fitting, key=lambda each: newest_first(each.name)) if fitting else None

    def _no_such_task(self, called: Any) -> NoSuchTask:
        known = ", ".join(self._tasks) or "none"
        return NoSuchTask(f"There is no {called}. The tasks of this hub: {known}.", task=called)

    def _route_of(self, task: Task[..., Any] | None, name: str = "") -> Route:
        most = self._max_payload_bytes
        if task is None:
            return Route(name, "", 0, False, None, most, most, 0, None)
        return Route(task.name.full, self._queue, task.timeout, task.idempotent, task.keyed, most, most, 1, task.check_args)

    def _put(self, task: str, args: str, part: dict[str, Any], ttl_ms: int, queue: str) -> tuple[JobRecord, bool]:
        """A new job, or the one that is there already."""
        for there in self._jobs:
            is_same = there.enqueued.task == task and there.part.get("unique") == part.get("unique")
            if "unique" in part and is_same and not there.is_over:
                return there, True
        due_ms = int(part.get("due") or self.now_ms + part.get("delay", 0))
        id = new_id()
        text = stamped(f"{due_ms}000", ttl_ms, job_body(id, job_part_text(part) if part else None, task, args, "}"))
        enqueued = EnqueuedJob(id, task, json.loads(args), queue, due_ms, part.get("key"))
        job = JobRecord(enqueued, part, text, due_ms + ttl_ms if ttl_ms else None)
        self._jobs.append(job)
        return job, False

    def _next(self) -> JobRecord | None:
        """Of those that are due the first: by priority, and then as they came. Of one key only its first."""
        now_ms = self.now_ms
        due: list[JobRecord] = []
        keys: set[tuple[str, str]] = set()
        for job in self._jobs:
            _, task, _, queue, _, key = job.enqueued
            if job.is_over or queue != self._queue or task not in self._tasks or (task, key) in keys:
                continue
            if key is not None:
                keys.add((task, key))
            if job.due_ms > now_ms or job.state == "running":
                continue
            if job.ends_ms is not None and job.tries == 0 and job.ends_ms < now_ms:
                job.state = "expired"
                continue
            due.append(job)
        return min(due, key=lambda job: _PRIORITIES[job.part.get("priority")], default=None)

    def _run_job(self, job: JobRecord, task: Task[..., Any]) -> Outcome:
        job.state = "running"
        request = request_of(job.text)
        if job.tries > 0:
            request.job = {**(request.job or {}), "tries": job.tries}
        outcome = self._running.run(task, request, task.job_timeout_ms / 1000)
        if outcome.error is None:
            job.state, job.result = "done", decode_payload(outcome.result)
            return outcome
        job.error = error_of(outcome.error, request)
        end = failed_end(request, task, outcome.error, outcome.raised)
        job.due_ms = self.now_ms + end.delay_ms
        if end.outcome == "putoff":
            job.state = "waiting"
            return outcome
        job.tries += 1
        job.state = "dead" if end.outcome == "dead" else "retrying"
        return outcome


def _is_of(meant: str, task: str) -> bool:
    return task == meant or task.startswith(meant + ("." if ":" in meant else ":"))
