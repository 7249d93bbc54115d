"""The dead jobs of a queue, on an event loop."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..queue.job_queue import JobQueue
from ..queue.shards import places_of
from ..redis.connection import Connection
from ..wire.errors import HubError, InvalidArgs, problem_error
from ..wire.job_part import JobFailure
from ..wire.message import MalformedMessage, decode_request
from ..wire.payload import PayloadProblem, encode_payload
from .job import JobHost
from .job_text import revived_message


class DeadJob(NamedTuple):
    """
    A dead job.

    :ivar task: ``name:version``
    :ivar from_: name of the service that enqueued it
    :ivar at_ms: when it became dead, Redis milliseconds
    :ivar tries: how often it was tried
    :ivar errors: its last ten failures, oldest first: ``at`` (Redis milliseconds), ``code``, ``message``
    :ivar following: how many steps of its chain wait for it
    :ivar key: its key; None without one
    :ivar score: for a merged job: the score of its payload, which is its ``args``
    """

    id: str
    queue: str
    task: str
    args: Any
    from_: str | None
    at_ms: int
    tries: int
    errors: list[JobFailure]
    following: int
    key: str | None = None
    score: float | None = None


#: Read at a time: each of them may be a megabyte.
_PAGE = 20
#: Sent at a time.
_BATCH = 20
#: Stands for arguments that are to stay as they are.
KEEP: Any = object()
_FILTERS = ("ids", "task", "code", "key", "before_ms")


class AsyncDeadJobs:
    """
    The dead jobs of a queue. They are kept for 180 days, at most 10,000. Filters are ``ids``, ``task`` (``name:version``), ``code`` (of
    the last failure), ``key`` and ``before_ms`` (dead before this, Redis milliseconds); omitted filters match everything.
    """

    def __init__(self, host: Callable[[], JobHost], queue: str) -> None:
        self.queue = queue
        self._host = host

    async def count(self, **matching: Any) -> int:
        """How many dead jobs exist, or match."""
        if not matching:
            host = self._host()
            return sum([await host.ask(queue.count_dead) for queue in await self._places()])
        return len([job for queue in await self._places() async for job, _ in self._matching(queue, matching)])

    async def list(self, limit: int = 100, **matching: Any) -> builtins.list[DeadJob]:
        """The latest first, at most ``limit``. Raises InvalidArgs for an unknown filter, NotEnqueued when Redis is unreachable, HubClosed."""
        found: list[DeadJob] = []
        places = await self._places()
        for queue in places:
            some: list[DeadJob] = []
            async for job, _ in self._matching(queue, matching):
                if len(some) >= limit:
                    break
                some.append(job)
            found += some
        return found if len(places) == 1 else sorted(found, key=lambda job: -job.at_ms)[:limit]

    async def retry(self, args: Any = KEEP, **matching: Any) -> int:
        """
        Retries the matching jobs with a new count of tries; their chains continue.

        :param args: replaces their arguments, which makes sense for one job
        :returns: how many
        :raises HubError: as list(), InvalidArgs for arguments that are not JSON
        """
        text = None if args is KEEP else _args_text(args)

        def revive(queue: JobQueue, connection: Connection, texts: Sequence[str]) -> Awaitable[int]:
            pairs = [(dead, revived_message(dead, text)) for dead in texts]
            return queue.revive(connection, pairs)

        return await self._in_batches(matching, revive)

    async def delete(self, **matching: Any) -> int:
        """Permanently deletes the matching jobs. Returns how many."""
        return await self._in_batches(matching, JobQueue.delete_dead)

    async def _places(self) -> builtins.list[JobQueue]:
        """The queue, and its shards."""
        host = self._host()
        names = await host.ask(lambda connection: places_of(connection, host.keys, self.queue))
        return [host.queue_of(name) for name in names]

    async def _in_batches(self, matching: Mapping[str, Any], act: Callable[[JobQueue, Connection, Sequence[str]], Awaitable[int]]) -> int:
        count = 0
        for queue in await self._places():
            # All are found before the first one goes: what is read by place must not move meanwhile.
            texts = [text async for _, text in self._matching(queue, matching)]
            for first in range(0, len(texts), _BATCH):
                some = texts[first : first + _BATCH]
                count += await self._host().change(lambda connection: act(queue, connection, some))
        return count

    async def _matching(self, job_queue: JobQueue, matching: Mapping[str, Any]) -> AsyncIterator[tuple[DeadJob, str]]:
        host, fits = self._host(), _fits(matching)
        first = 0
        while True:
            found = await host.ask(lambda connection: job_queue.dead(connection, first, first + _PAGE - 1))
            for raw, at_ms in found:
                job = self._read(host, job_queue.name, raw, at_ms)
                if job is not None and fits(job):
                    yield job, raw.decode()
            if len(found) < _PAGE:
                return
            first += _PAGE

    def _read(self, host: JobHost, queue: str, raw: bytes, at_ms: int) -> DeadJob | None:
        """None for what is no job."""
        try:
            request = decode_request(raw, None, host.keys)
        except MalformedMessage:
            return None
        part: Any = request.job or {}
        following = len(request.then) if isinstance(request.then, list) else 0
        tries, errors = part.get("tries", 0), part.get("errors", [])
        return DeadJob(
            request.id, queue, request.task, request.args, request.from_, at_ms, tries, errors, following, part.get("key"),
            part.get("score"),
        )  # fmt: skip


def _fits(matching: Mapping[str, Any]) -> Callable[[DeadJob], bool]:
    """Whether a job is one of those that are meant. Raises InvalidArgs for what is no filter: it must not pass for all of them."""
    for name in matching:
        if name not in _FILTERS:
            raise _wrong(f"there is no filter '{name}'. Known: {', '.join(_FILTERS)}")
    ids, task, code, key, before_ms = (matching.get(name) for name in _FILTERS)
    if isinstance(ids, str):
        raise _wrong("ids must be a list of ids")
    wanted = None if ids is None else set(ids)

    def fits(job: DeadJob) -> bool:
        return (
            (wanted is None or job.id in wanted)
            and (task is None or task == job.task)
            and (code is None or (bool(job.errors) and code == job.errors[-1]["code"]))
            and (key is None or key == job.key)
            and (before_ms is None or job.at_ms < before_ms)
        )

    return fits


def _wrong(what: str) -> HubError:
    return InvalidArgs(f"dead jobs: {what}.")


def _args_text(args: Any) -> str:
    try:
        return encode_payload(args)
    except PayloadProblem as problem:
        raise problem_error("InvalidArgs", [problem.problem], None) from None
