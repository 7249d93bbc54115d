"""Jobs that were enqueued, and chains of them, on an event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from typing import Any, Generic, Protocol, TypeVar

from ..queue.job_queue import JobQueue
from ..redis.connection import Connection
from ..task.task import R_co
from ..wire.clock import Stop, now_s, settle, within
from ..wire.errors import Aborted, Expired, HubClosed, HubError, NoSuchJob, NotEnqueued, Timeout, from_wire
from ..wire.ids import new_id
from ..wire.job_part import Place
from ..wire.keys import Keys
from .chain import step_id
from .hasten import hasten
from .job_progress import with_progress
from .job_record import JobRecord, JobStatus, moved_to, read_job_record

T = TypeVar("T")
Reply = dict[str, Any]

#: The answer that wakes who waits is pushed by the worker behind the step that ended the job; one that dies in between tells nobody.
#: So a wait looks again by itself after this long; and while Redis is away after that.
_LOOK_AGAIN_S = 5.0
_AWAY_S = 0.2
DEFAULT_RESULT_MS = 30_000
#: So often the number of shards may have changed while a job waited.
_MOST_MOVES = 16
#: Of whichever queue it turns out to be in.
_Read = Callable[[JobQueue, Connection], Awaitable[dict[str, str]]]


class JobHost(Protocol):
    """What a job needs of its hub."""

    #: Set when the hub is closed.
    closing: Stop
    keys: Keys

    @property
    def hub_id(self) -> str: ...

    async def ask(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Reads. Raises NotEnqueued, HubClosed."""
        ...

    async def change(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Changes something. Raises OutcomeUnknown where it may have been done, NotEnqueued, HubClosed."""
        ...

    def hear(self, ticket: str, on_reply: Callable[[Reply], None]) -> Callable[[], None]:
        """Hears a reply of that ticket, until the returned function is called."""
        ...

    def queue_of(self, name: str) -> JobQueue: ...


class _Where:
    """Where a job is, for all that stand for it."""

    __slots__ = ("queue",)

    def __init__(self, queue: str) -> None:
        self.queue = queue


class AsyncJob(Generic[R_co]):
    """
    An enqueued job. Its methods work only if it is tracked.

    :ivar id: its id
    :ivar queue: its queue; with shards, the shard that holds it
    :ivar task: ``name:version``
    :ivar is_twin: True if it is a duplicate: this is the existing job, and no new one was enqueued
    """

    def __init__(
        self,
        host: Callable[[], JobHost],
        queue: str,
        id: str,
        task: str,
        is_twin: bool = False,
        is_to_come: bool = False,
        read: Callable[[Any], Any] | None = None,
    ) -> None:
        """``is_to_come``: it is enqueued when others have ended. ``read`` makes of a result what is given out; None: it is that."""
        self._read = read
        self.id = id
        self._where = _Where(queue)
        self.task = task
        self.is_twin = is_twin
        self._host = host
        self._is_to_come = is_to_come

    @property
    def queue(self) -> str:
        return self._where.queue

    def __repr__(self) -> str:
        return f"<job {self.id} of {self.task} in queue {self.queue}>"

    def on(self, host: JobHost) -> AsyncJob[R_co]:
        """The same job, read through another host."""
        job = copy(self)
        job._host = lambda: host
        return job

    async def status(self) -> JobStatus:
        """
        The state of the job.

        :raises NoSuchJob: when it was not tracked, or the record has expired
        :raises NotEnqueued: when Redis is unreachable
        """
        status = self._known(await self._record()).status
        host = self._host()
        return await host.ask(lambda connection: with_progress(status, host.queue_of(self.queue), connection))

    async def result(self, timeout_ms: float = DEFAULT_RESULT_MS) -> R_co:
        """
        Waits until the job ends, without polling, and returns its result.

        :param timeout_ms: maximum wait, milliseconds; default 30 s
        :raises HubError: the class of its last failure when it is dead; Expired; Aborted when it was cancelled; Timeout when it has not
          ended in time; NoSuchJob; NotEnqueued; HubClosed
        """
        raw = await self._raw_result(timeout_ms)
        value: R_co = self._read(raw) if self._read else raw
        return value

    async def _raw_result(self, timeout_ms: float) -> Any:
        host = self._host()
        end = now_s() + timeout_ms / 1000
        ticket = new_id()
        answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        deafen = host.hear(ticket, lambda reply: settle(answered, reply))
        try:
            while True:
                record = await self._look(host, ticket, end)
                if answered.done():
                    return self._outcome_of(answered.result())
                if record is not None and record.status.has_ended:
                    return self._ended(record)
                pause = _LOOK_AGAIN_S if record is not None or self._is_to_come else _AWAY_S
                await within(answered, max(0.0, min(end - now_s(), pause)), host.closing)
                if answered.done():
                    return self._outcome_of(answered.result())
                if host.closing.is_set:
                    raise HubClosed(task=self.task, id=self.id)
                if now_s() >= end:
                    message = f"Job {self.id} of {self.task} did not end in time. The job continues."
                    raise Timeout(message, task=self.task, id=self.id)
        finally:
            deafen()

    async def cancel(self) -> bool:
        """
        Cancels the job: if it is waiting, it will not run; if it is running, its handler is notified.

        :returns: True if it will certainly not run to its end; False if its handler was notified, or it had already ended
        :raises HubError: NoSuchJob, NotEnqueued
        """
        host = self._host()
        state = await self._withdraw(host)
        if not state:
            raise self._unknown()
        return state in ("waiting", "scheduled", "retrying", "cancelled")

    async def run(self) -> bool:
        """
        Runs it now if it is scheduled or retrying. It keeps its count of tries.

        :returns: False if it is neither: it is already due, runs, has ended, or has a key (use ``run_now()`` of that key)
        :raises HubError: NoSuchJob, NotEnqueued
        """
        host, status = self._host(), await self.status()
        return await host.change(lambda connection: hasten(connection, host.queue_of(status.queue), status))

    async def chain(self) -> AsyncChain | None:
        """The chain of which it is a step; None if it is not in a chain. Raises NoSuchJob, NotEnqueued."""
        chain = self._known(await self._record()).chain
        return None if chain is None else AsyncChain(self._host, *chain)

    async def _record(self) -> dict[str, str]:
        return await self._follow(self._host(), lambda queue, connection: queue.record(connection, self.id))

    async def _withdraw(self, host: JobHost, is_to_come: bool = False) -> str:
        def withdraw(connection: Connection) -> Awaitable[str]:
            return host.queue_of(self.queue).withdraw(connection, self.id, is_to_come)

        state = await host.change(withdraw)
        if state == "moved":
            await self._follow(host, lambda queue, connection: queue.record(connection, self.id))
            state = await host.change(withdraw)
        return state

    async def _follow(self, host: JobHost, read: _Read) -> dict[str, str]:
        """Fields of its record; of a job that was moved to another shard, of the one that it has there."""
        moves = 0
        while True:
            queue = host.queue_of(self.queue)
            fields = await host.ask(lambda connection: read(queue, connection))
            shard = moved_to(fields, self.queue)
            if shard is None or moves == _MOST_MOVES:
                return fields
            self._where.queue = shard
            moves += 1

    async def _look(self, host: JobHost, ticket: str, end: float) -> JobRecord | None:
        """Its record; None while it is to come, or Redis is away and there is time left."""
        to_come_ms = (max(0.0, end - now_s()) + _LOOK_AGAIN_S) * 1000 if self._is_to_come else 0

        def await_end(queue: JobQueue, connection: Connection) -> Awaitable[dict[str, str]]:
            return queue.await_end(connection, self.id, ticket, host.hub_id, to_come_ms)

        try:
            fields = await self._follow(host, await_end)
            return read_job_record(fields, self.id, self.queue) if self._is_to_come else self._known(fields)
        except NotEnqueued:
            if now_s() < end:
                return None
            raise

    def _known(self, fields: Mapping[str, str]) -> JobRecord:
        record = read_job_record(fields, self.id, self.queue)
        if record is None:
            raise self._unknown()
        return record

    def _ended(self, record: JobRecord) -> Any:
        state, error = record.status.state, record.status.error
        if state == "done":
            return json.loads(record.result) if record.result else None
        if state == "dead" and error is not None:
            raise from_wire(dict(error), task=self.task, id=self.id)
        if state == "expired":
            raise Expired(f"Job {self.id} of {self.task} expired before it ran.", task=self.task, id=self.id)
        raise Aborted(f"Job {self.id} of {self.task} was cancelled.", task=self.task, id=self.id)

    def _outcome_of(self, reply: Reply) -> Any:
        if reply["ok"] is True:
            return reply.get("result")
        raise from_wire(reply["error"], task=self.task, id=self.id)

    def _unknown(self) -> HubError:
        why = "It was not tracked (enqueue it with tracked=True), or the record has expired"
        message = f"There is no record of job {self.id} in queue {self.queue}. {why}."
        return NoSuchJob(message, task=self.task, id=self.id)


class AsyncChain:
    """
    Jobs that run one after the other: each starts when the one before it has succeeded. All of them are tracked.

    :ivar id: id of the first job
    :ivar steps: the jobs
    """

    def __init__(self, host: Callable[[], JobHost], id: str, steps: Sequence[Place]) -> None:
        self.id = id
        self._host = host
        self.steps: list[AsyncJob[Any]] = [AsyncJob(host, queue, step_id(id, at), task, is_to_come=at > 0) for at, (queue, task) in enumerate(steps)]

    def on(self, host: JobHost) -> AsyncChain:
        """The same chain, read through another host."""
        chain = copy(self)
        chain._host = lambda: host
        chain.steps = [step.on(host) for step in self.steps]
        return chain

    async def status(self) -> list[JobStatus]:
        """
        The state of each step. If a step is dead, the chain continues when it is retried. Of a step whose record has expired, or that
        will never start, only the state is known.

        :raises NoSuchJob: when the records of all steps have expired
        :raises NotEnqueued: when Redis is unreachable
        """
        found = await asyncio.gather(*map(_status_of, self.steps))
        # What was cancelled before it came has a record, too.
        came = [at for at, step in enumerate(found) if step and (step.state != "cancelled" or step.enqueued_ms is not None)]
        latest = max(came, default=-1)
        if latest < 0:
            message = f"There is no record of chain {self.id}. It was not tracked, or the records have expired."
            raise NoSuchJob(message, id=self.id)
        stop = next((at for at, status in enumerate(found) if status and status.state in ("cancelled", "expired")), len(found))

        def state_of(at: int) -> str:
            return "done" if at < latest else "pending" if at < stop else "cancelled"

        return [found[at] or JobStatus(step.id, step.queue, step.task, state_of(at)) for at, step in enumerate(self.steps)]

    async def result(self, timeout_ms: float = DEFAULT_RESULT_MS) -> Any:
        """Waits until the chain ends, and returns the result of the last step. Raises as AsyncJob.result(), for the first step that fails."""
        end = now_s() + timeout_ms / 1000
        result: Any = None
        known: list[JobStatus] = []
        for at, step in enumerate(self.steps):
            if known and known[at].state == "done" and at < len(self.steps) - 1:
                continue
            try:
                result = await step.result(max(1.0, (end - now_s()) * 1000))
            except NoSuchJob:
                # The records of the first steps of a long chain go while it goes on.
                if at > 0:
                    raise
                known = await self.status()
        return result

    async def cancel(self) -> None:
        """Cancels the steps that have not ended: no further step starts. Raises as ``status``."""
        host, known = self._host(), await self.status()
        # From the end, so that none comes behind those that were looked at.
        for step, status in zip(reversed(self.steps), reversed(known)):
            await step._withdraw(host, status.state == "pending")


async def _status_of(step: AsyncJob[Any]) -> JobStatus | None:
    try:
        return await step.status()
    except NoSuchJob:
        return None
