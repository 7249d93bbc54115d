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
        Enqueues a job: the task is run in the background, once it is due, and again when it fails. No worker need live.

        :param task: as for ``call``
        :param args: any JSON value that fits the task's schema. Default: no arguments
        :param queue: queue that it goes to. Default: the one that its task is known in; has to be named where no worker ever declared
            the task
        :param forward: the forwarder that takes it out of the hub, in the place of a worker. Nothing here need know its task or what its
            arguments are
        :param delay_ms: not before so many milliseconds from now
        :param at: not before this moment: a datetime, or milliseconds since 1970
        :param retries: how often it is tried again when it fails. Default: as its task says, else 25. 0: never
        :param backoff: how long it waits before that: ``"exponential"``, ``"polynomial"``, milliseconds or a list of them. Default: as its
            task says, else ``"exponential"``
        :param key: for a task that is ``keyed``, and needed there: its jobs with the same key run one after the other, in the order in
            which they were enqueued, across all workers; or they are merged, where it is ``keyed="merged"``. A text of 1 to 200 bytes
        :param score: of a merged job: payloads with lower scores come first. Default: Redis' time, in microseconds
        :param priority: ``"high"`` goes before all other jobs of the queue, ``"low"`` lets all others pass
        :param expires_ms: nobody wants it any more so many milliseconds after it was enqueued, or was due: then it is not run
        :param tracked: True: the job's ``status``, ``result`` and ``cancel`` know it, also in other processes; for an hour after its end
        :param keep_result_ms: the same, and how many milliseconds its record, with the result, is kept after its end
        :param unique: at most one such job is there at a time: True for the same arguments, a text for an id, or a dict of ``id``,
            ``until`` (``"ended"`` or ``"started"``) and ``for_ms``. It is tracked, too
        :param durable: ``"replica"``: it is acknowledged when a replica of its Redis has it, too, so that a failover does not lose it.
            OutcomeUnknown when none confirms it within a second: it is enqueued then, and may be lost with its master
        :param timeout_ms: how long Redis may take to confirm it, milliseconds; default 5000
        :returns: the job, once it is in Redis. If it is not tracked, its ``status``, ``result`` and ``cancel`` raise NoSuchJob
        :raises HubError: InvalidArgs, PayloadTooLarge, NoSuchTask (name its queue, if nobody has declared it yet), NotEnqueued when Redis
            was away for ``timeout_ms``, OutcomeUnknown, HubClosed
        """
        found = self._run(lambda dispatch: dispatch.enqueuing.enqueue(task, args, options, lambda: dispatch), _seconds_of(options))
        return Job(self._run, found)

    def enqueue_many(self, entries: Sequence[EnqueueEntry], /, **options: Unpack[EnqueueOptions]) -> EnqueuedMany:
        """
        Enqueues up to 100,000 jobs. All of them are checked before the first is sent.

        :param entries: ``(task, args, options)`` each; arguments and options may be left out
        :param options: as of ``enqueue``, for all of them; an entry's own win
        :returns: their ids, in this order, and how many of them existed already (``twins``)
        :raises HubError: as ``enqueue``; ``data["index"]`` names the entry that is wrong, ``data["enqueued"]`` how many were confirmed
            before Redis was away
        """
        return self._run(lambda dispatch: dispatch.enqueuing.enqueue_many(entries, options), math.inf)

    def chain(self, entries: Sequence[EnqueueEntry], /, **options: Unpack[EnqueueOptions]) -> Chain:
        """
        Enqueues jobs one after the other: the next one starts when the one before is done. Each of them is tracked.

        :param entries: as of ``enqueue_many``, 1 to 100; with ``pass`` in an entry's options, that field of its arguments gets the result
            of the step before it
        :param options: as of ``enqueue``, for all of them; an entry's own win
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
        Enqueues jobs that belong together, up to 100,000: when all have ended, what is to follow is enqueued, once.

        :param entries: as of ``enqueue_many``
        :param then: an entry: what is enqueued when all have ended
        :param failed: in place of that where one of them is dead, has expired or was cancelled
        :param options: as of ``enqueue``, for all jobs of the batch; an entry's own win
        :raises HubError: as ``enqueue_many``
        """
        given = {"then": then, "failed": failed, **options}
        found = self._run(lambda dispatch: start_batch(dispatch.enqueuing, dispatch, lambda: dispatch, entries, given), math.inf)
        return Batch(self._run, found)

    def schedule(self, name: str, times: ScheduleTimes, task: Called, args: Any = {}, /, **options: Unpack[ScheduleOptions]) -> Schedule:
        """
        Has a job enqueued at its times, once each, however many workers there are. Workers of its queue keep that up. A schedule of the
        same name in that queue is replaced; one that is paused stays so.

        :param name: 1 to 64 letters, digits, ``.``, ``-``, ``_``
        :param times: ``cron``: five fields (minute, hour, day of month, month, day of week), or six with seconds in front; ``timezone``:
            an IANA name, default UTC; ``missed``: ``"once"`` (default) or ``"skip"``, what becomes of times at which no worker was there
        :param options: as of ``enqueue``, for each of its jobs
        :raises HubError: as ``enqueue``, InvalidArgs for times that cannot be
        :raises ConfigError: where the package cronsim is not installed
        """
        return self._run(
            lambda dispatch: dispatch.enqueuing.schedule(name, times, task, args, options, lambda: dispatch),
            _seconds_of(options),
        )

    def schedules(self, queue: str, /) -> Schedules:
        """The schedules of a queue: to look at, to pause, to run now, to remove. Raises InvalidArgs for what is no queue's name."""
        check_queue(queue)
        return Schedules(self._run, queue)

    def dead(self, queue: str, /) -> DeadJobs:
        """The jobs of a queue that were given up: to look at, to be tried again, to be deleted. Raises as ``schedules``."""
        check_queue(queue)
        return DeadJobs(self._run, queue)

    def key(self, task: Called, key: str, /, *, queue: str | None = None) -> JobKey:
        """
        A key of a task's jobs: where it is and what waits of it; to have it run now, to skip what it is stuck at, to delete what waits.

        :param task: as for ``call``
        :param queue: where it is. Default: the one that its task is known in
        :raises HubError: NoSuchTask, InvalidArgs for what is no key, NotEnqueued, HubClosed
        """
        return JobKey(self._run, self._run(lambda dispatch: dispatch.enqueuing.key(task, key, queue, lambda: dispatch)))

    def job(self, id: str, /, *, queue: str | None = None) -> Job[Any]:
        """
        A tracked job, wherever it was enqueued.

        :param queue: where it is. Default: all queues are asked
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
