"""What both kinds of hub do with jobs."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..jobs.batch import AsyncBatch
from ..jobs.blocking import Batch, Chain, DeadJobs, Job, JobKey, Schedules
from ..jobs.dead import AsyncDeadJobs
from ..jobs.enqueue_options import EnqueueOptions, ScheduleOptions
from ..jobs.job import AsyncChain, AsyncJob
from ..jobs.job_key import AsyncJobKey
from ..jobs.schedule_entry import ScheduleTimes
from ..jobs.schedules import AsyncSchedules, Schedule
from ..task.task import R, Task
from .arguments import Called
from .dispatch import Dispatch
from .enqueuing import EnqueuedMany, EnqueueEntry, check_queue
from .flows import start_batch, start_chain

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")


class JobCalls:
    """Of a hub for threads that wait."""

    def _run(self, work: Callable[[Dispatch], Awaitable[T]], patience_s: float = 0.0) -> T:
        """Runs it on the hub's own thread, for which it may take so long, beside what Redis takes."""
        raise NotImplementedError

    @overload
    def enqueue(self, task: Task[..., R], args: Any = ..., /, **options: Unpack[EnqueueOptions]) -> Job[R]: ...

    @overload
    def enqueue(self, task: str, args: Any = ..., /, **options: Unpack[EnqueueOptions]) -> Job[Any]: ...

    def enqueue(self, task: Called, args: Any = {}, /, **options: Unpack[EnqueueOptions]) -> Job[Any]:
        """
        Enqueues a job: a worker runs the task in the background when it is due, and retries it when it fails. No worker has to be live.

        :param task: as for ``call``
        :param args: a JSON value that matches the schema of the task. Default: no arguments
        :param queue: queue of the job. Default: the queue of its task; required if no worker has declared the task
        :param forward: forwarder that delivers the job, instead of a worker. Its task and arguments need not be known here
        :param delay_ms: run it after this many milliseconds
        :param at: run it at this time: a datetime, or milliseconds since 1970
        :param retries: how often it is retried when it fails. Default: as declared by its task, else 25. 0: never
        :param backoff: wait before a retry: ``"exponential"``, ``"polynomial"``, milliseconds or a list of them. Default: as declared by
          its task, else ``"exponential"``
        :param key: required for a ``keyed`` task: jobs with the same key run one at a time, in the order in which they were enqueued,
          across all workers; with ``keyed="merged"`` they are merged. A string of 1 to 200 bytes
        :param score: for merged jobs: payloads with lower scores come first. Default: the time of Redis in microseconds
        :param priority: ``"high"`` runs before all other jobs of the queue, ``"low"`` after them
        :param expires_ms: do not run it if it has waited this many milliseconds since it was enqueued or due
        :param tracked: True: ``status``, ``result`` and ``cancel`` work, also in other processes, until an hour after its end
        :param keep_result_ms: like ``tracked``, and how many milliseconds to keep the record with the result
        :param unique: allow at most one such job at a time: True for the same arguments, a string for an id, or a dict of ``id``,
          ``until`` (``"ended"`` or ``"started"``) and ``for_ms``. Implies ``tracked``
        :param durable: ``"replica"``: the job is acknowledged only when a replica of its Redis has it, so that a failover does not lose
          it. If no replica confirms it within a second, OutcomeUnknown is raised: the job is enqueued, but lost if the master fails
        :param timeout_ms: how long Redis may take to confirm it, milliseconds; default 5000
        :returns: the job, once it is in Redis. If it is not tracked, its ``status``, ``result`` and ``cancel`` raise NoSuchJob
        :raises HubError: InvalidArgs, PayloadTooLarge, NoSuchTask (pass the queue if no worker has declared the task yet), NotEnqueued
          when Redis was unreachable for ``timeout_ms``, OutcomeUnknown, HubClosed
        """
        found = self._run(lambda dispatch: dispatch.enqueuing.enqueue(task, args, options, lambda: dispatch), _seconds_of(options))
        return Job(self._run, found)

    def enqueue_many(self, entries: Sequence[EnqueueEntry], /, **options: Unpack[EnqueueOptions]) -> EnqueuedMany:
        """
        Enqueues up to 100,000 jobs. All entries are checked before the first job is sent.

        :param entries: ``(task, args, options)`` each; arguments and options are optional
        :param options: as for ``enqueue``, for all jobs; the options of an entry take precedence
        :returns: their ids, in this order, and how many were duplicates (``twins``)
        :raises HubError: as ``enqueue``; ``data["index"]`` is the invalid entry, ``data["enqueued"]`` the number of jobs confirmed before
          Redis became unreachable
        """
        return self._run(lambda dispatch: dispatch.enqueuing.enqueue_many(entries, options), math.inf)

    def chain(self, entries: Sequence[EnqueueEntry], /, **options: Unpack[EnqueueOptions]) -> Chain:
        """
        Enqueues a chain: each job starts when the one before it has succeeded. All of them are tracked.

        :param entries: as for ``enqueue_many``, 1 to 100; set ``pass`` in the options of an entry to put the result of the previous step
          into that field of its arguments
        :param options: as for ``enqueue``, for all jobs; the options of an entry take precedence
        :raises HubError: as ``enqueue_many``
        """
        found = self._run(lambda dispatch: start_chain(dispatch.enqueuing, lambda: dispatch, entries, options), math.inf)
        return Chain(self._run, found)

    def batch(
        self,
        entries: Sequence[EnqueueEntry],
        /,
        *,
        then: EnqueueEntry | None = None,
        failed: EnqueueEntry | None = None,
        **options: Unpack[EnqueueOptions],
    ) -> Batch:
        """
        Enqueues up to 100,000 jobs as a batch: when all of them have ended, a follow-up job is enqueued once.

        :param entries: as for ``enqueue_many``
        :param then: an entry: the follow-up job
        :param failed: the follow-up job if a job is dead, expired or cancelled
        :param options: as for ``enqueue``, for all jobs of the batch; the options of an entry take precedence
        :raises HubError: as ``enqueue_many``
        """
        given = {"then": then, "failed": failed, **options}
        found = self._run(lambda dispatch: start_batch(dispatch.enqueuing, dispatch, lambda: dispatch, entries, given), math.inf)
        return Batch(self._run, found)

    def schedule(self, name: str, times: ScheduleTimes, task: Called, args: Any = {}, /, **options: Unpack[ScheduleOptions]) -> Schedule:
        """
        Creates a schedule: a job is enqueued at the times of a cron entry, once each, however many workers run. The workers of its queue
        do this. A schedule of the same name in that queue is replaced; a paused one stays paused.

        :param name: 1 to 64 letters, digits, ``.``, ``-``, ``_``
        :param times: ``cron``: five fields (minute, hour, day of month, month, day of week), or six with seconds first; ``timezone``: an
          IANA name, default UTC; ``missed``: ``"once"`` (default) or ``"skip"``, what happens to times without a live worker
        :param options: as for ``enqueue``, for each of its jobs
        :raises HubError: as ``enqueue``, InvalidArgs for invalid times
        :raises ConfigError: when the package cronsim is not installed
        """
        return self._run(
            lambda dispatch: dispatch.enqueuing.schedule(name, times, task, args, options, lambda: dispatch),
            _seconds_of(options),
        )

    def schedules(self, queue: str, /) -> Schedules:
        """The schedules of a queue: list, pause, run or remove them. Raises InvalidArgs for an invalid queue name."""
        check_queue(queue)
        return Schedules(self._run, queue)

    def dead(self, queue: str, /) -> DeadJobs:
        """The dead jobs of a queue: list, retry or delete them. Raises as ``schedules``."""
        check_queue(queue)
        return DeadJobs(self._run, queue)

    def key(self, task: Called, key: str, /, *, queue: str | None = None) -> JobKey:
        """
        A key of the jobs of a task: show its state, run it now, skip its first job or delete its waiting jobs.

        :param task: as for ``call``
        :param queue: queue of the key. Default: the queue of the task
        :raises HubError: NoSuchTask, InvalidArgs for an invalid key, NotEnqueued, HubClosed
        """
        return JobKey(self._run, self._run(lambda dispatch: dispatch.enqueuing.key(task, key, queue, lambda: dispatch)))

    def job(self, id: str, /, *, queue: str | None = None) -> Job[Any]:
        """
        A tracked job, wherever it was enqueued.

        :param queue: queue of the job. Default: search all queues
        :raises HubError: NoSuchJob, NotEnqueued, HubClosed
        """
        return Job(self._run, self._run(lambda dispatch: dispatch.enqueuing.job(id, queue, lambda: dispatch)))


class AsyncJobCalls:
    """Of a hub for asyncio."""

    def _asked(self) -> Dispatch:
        """The calls of the running loop. Raises HubClosed."""
        raise NotImplementedError

    @overload
    async def enqueue(self, task: Task[..., R], args: Any = ..., /, **options: Unpack[EnqueueOptions]) -> AsyncJob[R]: ...

    @overload
    async def enqueue(self, task: str, args: Any = ..., /, **options: Unpack[EnqueueOptions]) -> AsyncJob[Any]: ...

    async def enqueue(self, task: Called, args: Any = {}, /, **options: Unpack[EnqueueOptions]) -> AsyncJob[Any]:
        """As of Hub."""
        return await self._asked().enqueuing.enqueue(task, args, options, self._asked)

    async def enqueue_many(self, entries: Sequence[EnqueueEntry], /, **options: Unpack[EnqueueOptions]) -> EnqueuedMany:
        """As of Hub."""
        return await self._asked().enqueuing.enqueue_many(entries, options)

    async def chain(self, entries: Sequence[EnqueueEntry], /, **options: Unpack[EnqueueOptions]) -> AsyncChain:
        """As of Hub."""
        return await start_chain(self._asked().enqueuing, self._asked, entries, options)

    async def batch(
        self,
        entries: Sequence[EnqueueEntry],
        /,
        *,
        then: EnqueueEntry | None = None,
        failed: EnqueueEntry | None = None,
        **options: Unpack[EnqueueOptions],
    ) -> AsyncBatch:
        """As of Hub."""
        dispatch = self._asked()
        given = {"then": then, "failed": failed, **options}
        return await start_batch(dispatch.enqueuing, dispatch, self._asked, entries, given)

    async def schedule(self, name: str, times: ScheduleTimes, task: Called, args: Any = {}, /, **options: Unpack[ScheduleOptions]) -> Schedule:
        """As of Hub."""
        return await self._asked().enqueuing.schedule(name, times, task, args, options, self._asked)

    def schedules(self, queue: str, /) -> AsyncSchedules:
        """As of Hub."""
        check_queue(queue)
        return AsyncSchedules(self._asked, queue)

    def dead(self, queue: str, /) -> AsyncDeadJobs:
        """As of Hub."""
        check_queue(queue)
        return AsyncDeadJobs(self._asked, queue)

    async def key(self, task: Called, key: str, /, *, queue: str | None = None) -> AsyncJobKey:
        """As of Hub."""
        return await self._asked().enqueuing.key(task, key, queue, self._asked)

    async def job(self, id: str, /, *, queue: str | None = None) -> AsyncJob[Any]:
        """As of Hub."""
        return await self._asked().enqueuing.job(id, queue, self._asked)


def _seconds_of(options: ScheduleOptions) -> float:
    """How long Redis may take; what is no number is told of where it is read."""
    timeout_ms = options.get("timeout_ms")
    return timeout_ms / 1000 if isinstance(timeout_ms, (int, float)) and timeout_ms > 0 else 5.0
