"""The same jobs, chains and batches for threads that wait."""

from __future__ import annotations

import builtins
import math
from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar

from ..task.task import R_co
from .batch import AsyncBatch, BatchStatus
from .dead import KEEP, AsyncDeadJobs, DeadJob
from .job import DEFAULT_RESULT_MS, AsyncChain, AsyncJob, JobHost
from .job_key import AsyncJobKey, KeyStatus
from .job_record import JobStatus
from .schedules import AsyncSchedules, Schedule

T = TypeVar("T")


class Run(Protocol):
    """Runs something on the event loop of a hub, and waits for it; ``patience_s`` is how long that takes at the most if all is well."""

    def __call__(self, work: Callable[[JobHost], Awaitable[T]], patience_s: float = 0.0) -> T: ...


# What goes through up to 10,000 dead jobs takes as long as it takes.
_ALL = math.inf


class Job(Generic[R_co]):
    """
    An enqueued job. Its methods work only if it is tracked. It is thread-safe, also after a fork.

    :ivar id: its id
    :ivar queue: its queue; with shards, the shard that holds it
    :ivar task: ``name:version``
    :ivar is_twin: True if it is a duplicate: this is the existing job, and no new one was enqueued
    """

    def __init__(self, run: Run, job: AsyncJob[R_co]) -> None:
        self.id = job.id
        self.task = job.task
        self.is_twin = job.is_twin
        self._run = run
        self._job = job

    @property
    def queue(self) -> str:
        return self._job.queue

    def __repr__(self) -> str:
        return repr(self._job)

    def status(self) -> JobStatus:
        """
        The state of the job.

        :raises NoSuchJob: when it was not tracked, or the record has expired
        :raises NotEnqueued: when Redis is unreachable
        """
        return self._run(lambda host: self._job.on(host).status())

    def result(self, timeout_ms: float = DEFAULT_RESULT_MS) -> R_co:
        """
        Waits until the job ends, without polling, and returns its result.

        :param timeout_ms: maximum wait, milliseconds; default 30 s
        :raises HubError: the class of its last failure when it is dead; Expired; Aborted when it was cancelled; Timeout when it has not
          ended in time; NoSuchJob; NotEnqueued; HubClosed
        """
        return self._run(lambda host: self._job.on(host).result(timeout_ms), timeout_ms / 1000)

    def cancel(self) -> bool:
        """
        Cancels the job: if it is waiting, it will not run; if it is running, its handler is notified.

        :returns: True if it will certainly not run to its end; False if its handler was notified, or it had already ended
        :raises HubError: NoSuchJob, NotEnqueued
        """
        return self._run(lambda host: self._job.on(host).cancel())

    def run(self) -> bool:
        """
        Runs it now if it is scheduled or retrying. It keeps its count of tries.

        :returns: False if it is neither: it is already due, runs, has ended, or has a key (use ``run_now()`` of that key)
        :raises HubError: NoSuchJob, NotEnqueued
        """
        return self._run(lambda host: self._job.on(host).run())

    def chain(self) -> Chain | None:
        """
        The chain of which it is a step; None if it is not in a chain.

        :raises HubError: NoSuchJob, NotEnqueued
        """
        chain = self._run(lambda host: self._job.on(host).chain())
        return None if chain is None else Chain(self._run, chain)


class Chain:
    """
    Jobs that run one after the other: each starts when the one before it has succeeded. All of them are tracked.

    :ivar id: id of the first job
    :ivar steps: the jobs
    """

    def __init__(self, run: Run, chain: AsyncChain) -> None:
        self.id = chain.id
        self.steps: list[Job[Any]] = [Job(run, step) for step in chain.steps]
        self._run = run
        self._chain = chain

    def status(self) -> list[JobStatus]:
        """The state of each step. If a step is dead, the chain continues when it is retried."""
        return self._run(lambda host: self._chain.on(host).status())

    def result(self, timeout_ms: float = DEFAULT_RESULT_MS) -> Any:
        """Waits until the chain ends, and returns the result of the last step. Raises as Job.result(), for the first step that fails."""
        return self._run(lambda host: self._chain.on(host).result(timeout_ms), timeout_ms / 1000)

    def cancel(self) -> None:
        """Cancels the steps that have not ended: no further step starts."""
        self._run(lambda host: self._chain.on(host).cancel())


class Batch:
    """
    Jobs that belong together: when all have ended, the follow-up job is enqueued once.

    :ivar queue: queue in which it is counted: that of the follow-up job
    :ivar ids: ids of its jobs
    :ivar after: the follow-up job
    :ivar failed: the follow-up job if one of the jobs failed
    """

    def __init__(self, run: Run, batch: AsyncBatch) -> None:
        self.id = batch.id
        self.queue = batch.queue
        self.ids = batch.ids
        self.after = batch.after and Job(run, batch.after)
        self.failed = batch.failed and Job(run, batch.failed)
        self._run = run
        self._batch = batch

    def status(self) -> BatchStatus | None:
        """None when it ended more than an hour ago."""
        return self._run(lambda host: self._batch.on(host).status())


class Schedules:
    """
    The schedules of one queue. The workers of that queue run them.

    :ivar queue: its name
    """

    def __init__(self, run: Run, queue: str) -> None:
        self.queue = queue
        self._run = run

    def list(self) -> builtins.list[Schedule]:
        """All schedules by name; unreadable ones are omitted. Raises NotEnqueued when Redis is unreachable, HubClosed."""
        return self._run(lambda host: self._on(host).list())

    def pause(self, name: str) -> bool:
        """Stops enqueuing until ``resume``. Returns False if there is no such schedule."""
        return self._run(lambda host: self._on(host).pause(name))

    def resume(self, name: str) -> bool:
        """Continues with its next time; missed times are skipped. Raises ConfigError without cronsim."""
        return self._run(lambda host: self._on(host).resume(name))

    def run(self, name: str) -> Job[Any] | None:
        """Enqueues its job now and does not change its times. None if there is no such schedule."""
        found = self._run(lambda host: self._on(host).run(name))
        return None if found is None else Job(self._run, found)

    def remove(self, name: str) -> bool:
        """Returns whether it existed."""
        return self._run(lambda host: self._on(host).remove(name))

    def _on(self, host: JobHost) -> AsyncSchedules:
        return AsyncSchedules(lambda: host, self.queue)


class DeadJobs:
    """
    The dead jobs of a queue. They are kept for 180 days, at most 10,000. Filters are ``ids``, ``task`` (``name:version``), ``code`` (of
    the last failure), ``key`` and ``before_ms`` (dead before this, Redis milliseconds); omitted filters match everything.

    :ivar queue: its name
    """

    def __init__(self, run: Run, queue: str) -> None:
        self.queue = queue
        self._run = run

    def count(self, **matching: Any) -> int:
        """How many dead jobs exist, or match."""
        return self._run(lambda host: self._on(host).count(**matching), _ALL)

    def list(self, limit: int = 100, **matching: Any) -> builtins.list[DeadJob]:
        """The latest first, at most ``limit``. Raises InvalidArgs for an unknown filter, NotEnqueued when Redis is unreachable, HubClosed."""
        return self._run(lambda host: self._on(host).list(limit, **matching), _ALL)

    def retry(self, args: Any = KEEP, **matching: Any) -> int:
        """
        Retries the matching jobs with a new count of tries; their chains continue.

        :param args: replaces their arguments, which makes sense for one job
        :returns: how many
        :raises HubError: as list(), InvalidArgs for arguments that are not JSON
        """
        return self._run(lambda host: self._on(host).retry(args, **matching), _ALL)

    def delete(self, **matching: Any) -> int:
        """Permanently deletes the matching jobs. Returns how many."""
        return self._run(lambda host: self._on(host).delete(**matching), _ALL)

    def _on(self, host: JobHost) -> AsyncDeadJobs:
        return AsyncDeadJobs(lambda: host, self.queue)


class JobKey:
    """
    A key of the jobs of one task. It is thread-safe, also after a fork.

    :ivar queue: its queue
    :ivar task: ``name:version``
    :ivar key: the key
    """

    def __init__(self, run: Run, key: AsyncJobKey) -> None:
        self.queue = key.queue
        self.task = key.task
        self.key = key.key
        self._run = run
        self._key = key

    def __repr__(self) -> str:
        return repr(self._key)

    def status(self) -> KeyStatus:
        """The state of the key, what waits for it, and its failures. Raises NotEnqueued when Redis is unreachable, HubClosed."""
        return self._run(lambda host: self._key.on(host).status())

    def run_now(self) -> int:
        """
        Makes the waiting jobs due: they run as soon as a slot is idle. A running job keeps running.

        :returns: how many jobs, or payloads, wait
        :raises HubError: as status()
        """
        return self._run(lambda host: self._key.on(host).run_now())

    def skip(self, id: str | None = None, score: float | None = None) -> bool:
        """
        Skips the first job, or the payload with the lowest score: it becomes dead, and the next one is due. Pass the one you mean, from
        ``status``, so that repeating a skip with an unknown outcome does not skip another one.

        :param id: id of the job; default: the first
        :param score: score of the payload
        :returns: whether it was found and skipped
        :raises HubError: InvalidArgs while the key runs, and for a job that a batch of another queue waits for; else as status()
        """
        return self._run(lambda host: self._key.on(host).skip(id, score))

    def delete(self) -> int:
        """
        Deletes the waiting payloads of a task that merges its jobs. Returns how many; 0 for other tasks, whose jobs are cancelled one by
        one. Raises as status().
        """
        return self._run(lambda host: self._key.on(host).delete())

    def dead(self) -> list[DeadJob]:
        """Its latest dead jobs, or payloads, at most a thousand. Raises as status()."""
        return self._run(lambda host: self._key.on(host).dead(), _ALL)

    def retry_dead(self) -> int:
        """Retries its dead jobs, or payloads. Returns how many. Raises as status()."""
        return self._run(lambda host: self._key.on(host).retry_dead(), _ALL)
