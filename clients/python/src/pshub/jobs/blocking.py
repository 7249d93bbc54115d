"""The same jobs, chains and batches for threads that wait."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, List, Optional, Protocol, TypeVar

from .batch import AsyncBatch, BatchStatus
from .job import DEFAULT_RESULT_MS, AsyncChain, AsyncJob, JobHost
from .job_record import JobStatus

T = TypeVar("T")


class Run(Protocol):
    """Runs something on the event loop of a hub, and waits for it; ``patience_s`` is how long that takes at the most if all is well."""

    def __call__(self, work: Callable[[JobHost], Awaitable[T]], patience_s: float = 0.0) -> T: ...


class Job:
    """
    A job that was enqueued. Only a tracked one can tell of itself. It may be used from all threads, and after a fork.

    :ivar id: its id
    :ivar queue: where it waits and runs
    :ivar task: ``name:version``
    :ivar is_twin: True when it was there already: another one of the same uniqueness, which goes on in its stead
    """

    def __init__(self, run: Run, job: AsyncJob) -> None:
        self.id = job.id
        self.queue = job.queue
        self.task = job.task
        self.is_twin = job.is_twin
        self._run = run
        self._job = job

    def __repr__(self) -> str:
        return repr(self._job)

    def status(self) -> JobStatus:
        """
        Where it is.

        :raises NoSuchJob: when it was not tracked, or its record has gone
        :raises NotEnqueued: when Redis is away
        """
        return self._run(lambda host: self._job.on(host).status())

    def result(self, timeout_ms: float = DEFAULT_RESULT_MS) -> Any:
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

    def chain(self) -> "Optional[Chain]":
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
        self.steps = [Job(run, step) for step in chain.steps]
        self._run = run
        self._chain = chain

    def status(self) -> List[JobStatus]:
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

    def status(self) -> Optional[BatchStatus]:
        """None when it ended more than an hour ago."""
        return self._run(lambda host: self._batch.on(host).status())
