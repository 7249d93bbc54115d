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
    A job that was enqueued. Only a tracked one can tell of itself. It may be used from all threads, and after a fork.

    :ivar id: its id
    :ivar queue: where it waits and runs; of a queue that is spread over shards, the one of them that it is in
    :ivar task: ``name:version``
    :ivar is_twin: True when it was there already: another one of the same uniqueness, which goes on in its stead
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
        Where it is.

        :raises NoSuchJob: when it was not tracked, or the record has expired
        :raises NotEnqueued: when Redis is away
        """
        return self._run(lambda host: self._job.on(host).status())

    def result(self, timeout_ms: float = DEFAULT_RESULT_MS) -> R_co:
        """
        Waits for its end, without polling, and returns its result.

        :param timeout_ms: how long it waits, milliseconds; default 30 s
        :raises HubError: the class of its last failure when it is dead; Expired; Aborted when it was cancelled; Timeout when it has not
            ended by then; NoSuchJob; NotEnqueued; HubClosed
        """
        return self._run(lambda host: self._job.on(host).result(timeout_ms), timeout_ms / 1000)

    def cancel(self) -> bool:
        """
        Cancels it: one that waits never runs, the handler of one that runs is told to stop.

        :returns: True when it certainly will not run to its end any more; False when its worker was told, or it had ended before
        :raises HubError: NoSuchJob, NotEnqueued
        """
        return self._run(lambda host: self._job.on(host).cancel())

    def run(self) -> bool:
        """
        Has it taken now where it waits for its time or its next try; its tries go on as they are.

        :returns: False when it does not wait so: it waits to be taken, runs, has ended, or has a key, which ``run()`` of that key has run
        :raises HubError: NoSuchJob, NotEnqueued
        """
        return self._run(lambda host: self._job.on(host).run())

    def chain(self) -> Chain | None:
        """
        The chain that it is a step of; None for one that is none.

        :raises HubError: NoSuchJob, NotEnqueued
        """
        chain = self._run(lambda host: self._job.on(host).chain())
        return None if chain is None else Chain(self._run, chain)


class Chain:
    """
    Jobs one after the other: the next one starts when the one before is done. Each of them is tracked.

    :ivar id: id of the first job
    :ivar steps: the jobs
    """

    def __init__(self, run: Run, chain: AsyncChain) -> None:
        self.id = chain.id
        self.steps: list[Job[Any]] = [Job(run, step) for step in chain.steps]
        self._run = run
        self._chain = chain

    def status(self) -> list[JobStatus]:
        """Where each step is. A step that was given up is dead; the chain goes on when that is tried again."""
        return self._run(lambda host: self._chain.on(host).status())

    def result(self, timeout_ms: float = DEFAULT_RESULT_MS) -> Any:
        """
        Waits for the end of all, and returns the result of the last step. Raises as Job.result(), for the first that does not end well.
        """
        return self._run(lambda host: self._chain.on(host).result(timeout_ms), timeout_ms / 1000)

    def cancel(self) -> None:
        """Cancels what has not ended: no further step starts."""
        self._run(lambda host: self._chain.on(host).cancel())


class Batch:
    """
    Jobs that belong together: when all have ended, what is to follow is enqueued, once.

    :ivar queue: where it is counted: the queue of what follows
    :ivar ids: of its jobs
    :ivar after: what follows when all have ended
    :ivar failed: what follows in its place where one of them did not end well
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
    The schedules of one queue. Workers of that queue keep them up.

    :ivar queue: its name
    """

    def __init__(self, run: Run, queue: str) -> None:
        self.queue = queue
        self._run = run

    def list(self) -> builtins.list[Schedule]:
        """All of them, by name; what cannot be read is left out. Raises NotEnqueued when Redis is away, HubClosed."""
        return self._run(lambda host: self._on(host).list())

    def pause(self, name: str) -> bool:
        """Nothing is enqueued any more until ``resume``. Returns False where there is no such schedule."""
        return self._run(lambda host: self._on(host).pause(name))

    def resume(self, name: str) -> bool:
        """It goes on with its next time; those that passed meanwhile are not made up for. Raises ConfigError without cronsim."""
        return self._run(lambda host: self._on(host).resume(name))

    def run(self, name: str) -> Job[Any] | None:
        """Enqueues its job now; its times stay as they are. None where there is no such schedule."""
        found = self._run(lambda host: self._on(host).run(name))
        return None if found is None else Job(self._run, found)

    def remove(self, name: str) -> bool:
        """Returns whether there was one."""
        return self._run(lambda host: self._on(host).remove(name))

    def _on(self, host: JobHost) -> AsyncSchedules:
        return AsyncSchedules(lambda: host, self.queue)


class DeadJobs:
    """
    The jobs of a queue that were given up: they are kept for 180 days, 10,000 of them at the most. Filters are ``ids``, ``task``
    (``name:version``), ``code`` (of the last failure), ``key`` and ``before_ms`` (given up before this, Redis milliseconds); what is not
    said does not matter. Without any: all.

    :ivar queue: its name
    """

    def __init__(self, run: Run, queue: str) -> None:
        self.queue = queue
        self._run = run

    def count(self, **matching: Any) -> int:
        """How many there are, or match."""
        return self._run(lambda host: self._on(host).count(**matching), _ALL)

    def list(self, limit: int = 100, **matching: Any) -> builtins.list[DeadJob]:
        """The latest first, at most ``limit``. Raises InvalidArgs for what is no filter, NotEnqueued when Redis is away, HubClosed."""
        return self._run(lambda host: self._on(host).list(limit, **matching), _ALL)

    def retry(self, args: Any = KEEP, **matching: Any) -> int:
        """
        Has those that match tried again, from their first try on; a chain goes on with them.

        :param args: in the place of their own, which makes sense for one of them
        :returns: how many
        :raises HubError: as list(), InvalidArgs for arguments that are no JSON
        """
        return self._run(lambda host: self._on(host).retry(args, **matching), _ALL)

    def delete(self, **matching: Any) -> int:
        """Removes those that match, for good. Returns how many."""
        return self._run(lambda host: self._on(host).delete(**matching), _ALL)

    def _on(self, host: JobHost) -> AsyncDeadJobs:
        return AsyncDeadJobs(lambda: host, self.queue)


class JobKey:
    """
    A key of the jobs of one task. It may be used from all threads, and after a fork.

    :ivar queue: where it is
    :ivar task: ``name:version``
    :ivar key: its text
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
        """Where it is, what waits of it, and how it failed. Raises NotEnqueued when Redis is away, HubClosed."""
        return self._run(lambda host: self._key.on(host).status())

    def run_now(self) -> int:
        """
        Has what waits of it run as soon as a slot is idle, whatever time it waits for. What runs goes on.

        :returns: how many jobs, or payloads, wait
        :raises HubError: as status()
        """
        return self._run(lambda host: self._key.on(host).run_now())

    def skip(self, id: str | None = None, score: float | None = None) -> bool:
        """
        Gives up what it is stuck at: its first job, or of merged ones the payload with the lowest score, which is dead then. What comes
        behind that is due now. Name the one that you mean, as ``status`` tells it, and a skip that is repeated because its outcome is
        unknown takes no other.

        :param id: of the job; default: whichever is first
        :param score: of the payload
        :returns: whether it was there, and is skipped
        :raises HubError: InvalidArgs while it runs, and for a job that a batch of another queue waits for; else as status()
        """
        return self._run(lambda host: self._key.on(host).skip(id, score))

    def delete(self) -> int:
        """
        Deletes the payloads that wait of a task that merges its jobs. Returns how many; of a task that does not merge them none, because
        jobs of a line are cancelled one by one. Raises as status().
        """
        return self._run(lambda host: self._key.on(host).delete())

    def dead(self) -> list[DeadJob]:
        """The latest of its dead jobs, or payloads, at most a thousand. Raises as status()."""
        return self._run(lambda host: self._key.on(host).dead(), _ALL)

    def retry_dead(self) -> int:
        """Puts its dead jobs, or payloads, back to those that wait. Returns how many. Raises as status()."""
        return self._run(lambda host: self._key.on(host).retry_dead(), _ALL)
