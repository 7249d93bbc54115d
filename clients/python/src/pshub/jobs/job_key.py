"""A key of the jobs of one task, on an event loop."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..redis.connection import Connection
from ..redis.refusals import ReplyError, code_of
from ..wire.errors import InvalidArgs
from ..wire.foreign import LATEST_MS
from ..wire.job_part import JobFailure, read_job_part
from ..wire.keys import Keys, whole_queue
from ..wire.message import MalformedMessage, decode_request
from ..wire.payload import read_any_payload
from .dead import AsyncDeadJobs, DeadJob
from .job import JobHost


class KeyRun(NamedTuple):
    """What runs of a key."""

    fence: int
    worker: str
    #: Redis milliseconds.
    since_ms: int
    #: Of the job, or of the run.
    id: str


class WaitingPayload(NamedTuple):
    args: Any
    score: float


class WaitingJob(NamedTuple):
    id: str
    args: Any
    tries: int
    #: Redis milliseconds.
    enqueued_ms: int | None


class KeyStatus(NamedTuple):
    """
    A key of jobs, with its waiting jobs or payloads.

    :ivar task: ``name:version``
    :ivar state: ``running``; ``due``: next to run; ``later``: scheduled; ``empty``: nothing waits or runs
    :ivar due_ms: since when it is due, or when it will be, Redis milliseconds; None if neither
    :ivar run: its running job; None if there is none
    :ivar waiting: how many jobs, or payloads, wait
    :ivar payloads: the first hundred waiting payloads, for a task that merges its jobs
    :ivar jobs: the first twenty waiting jobs
    :ivar tries: how often its runs, or its first job, failed so far
    :ivar errors: the last ten failures, oldest first
    """

    queue: str
    task: str
    key: str
    state: str
    due_ms: int | None
    run: KeyRun | None
    waiting: int
    payloads: list[WaitingPayload]
    jobs: list[WaitingJob]
    tries: int
    errors: list[JobFailure]


_MOST_PAYLOADS = 100
_MOST_JOBS = 20
_MOST_DEAD = 1000
_RUN = re.compile(rb"([0-9]{1,16}) ([A-Za-z0-9_-]+) ([A-Za-z0-9_-]+)")


class AsyncJobKey:
    """
    A key of the jobs of one task.

    :ivar queue: its queue
    :ivar task: ``name:version``
    :ivar key: the key
    """

    def __init__(self, host: Callable[[], JobHost], queue: str, task: str, key: str) -> None:
        self.queue = queue
        self.task = task
        self.key = key
        self._host = host

    def __repr__(self) -> str:
        return f"<key {self.key!r} of {self.task} in queue {self.queue}>"

    def on(self, host: JobHost) -> AsyncJobKey:
        """The same key, read through another host."""
        return AsyncJobKey(lambda: host, self.queue, self.task, self.key)

    async def status(self) -> KeyStatus:
        """
        The state of the key, what waits for it, and its failures.

        :raises NotEnqueued: when Redis is unreachable
        """
        host = self._host()
        return await host.ask(lambda connection: _read(connection, host.keys, self.queue, self.task, self.key))

    async def run_now(self) -> int:
        """
        Makes the waiting jobs due: they run as soon as a slot is idle. A running job keeps running.

        :returns: how many jobs, or payloads, wait
        """
        return await self._act("run")

    async def skip(self, id: str | None = None, score: float | None = None) -> bool:
        """
        Skips the first job, or the payload with the lowest score: it becomes dead, and the next one is due. Pass the one you mean, from
        ``status``, so that repeating a skip with an unknown outcome does not skip another one.

        :param id: id of the job; default: the first
        :param score: score of the payload
        :returns: whether it was found and skipped
        :raises InvalidArgs: while the key runs, and for a job that a batch of another queue waits for
        """
        named = id if id is not None else "" if score is None else repr(score)
        count = await self._act("skip", named)
        what = f"{self.task}, key {json.dumps(self.key, ensure_ascii=False)}: nothing is skipped"
        if count == -1:
            raise InvalidArgs(f"{what}, because it is running now. Wait until the run ends.", task=self.task)
        if count == -2:
            why = "because a batch of another queue waits for its first job. Cancel that job"
            raise InvalidArgs(f"{what}, {why}.", task=self.task)
        return count > 0

    async def delete(self) -> int:
        """Deletes the waiting payloads of a task that merges its jobs. Returns how many; 0 for other tasks, whose jobs are cancelled one by one."""
        return await self._act("delete")

    async def dead(self) -> list[DeadJob]:
        """Its latest dead jobs, or payloads, at most a thousand."""
        return await AsyncDeadJobs(self._host, whole_queue(self.queue)).list(_MOST_DEAD, task=self.task, key=self.key)

    async def retry_dead(self) -> int:
        """Retries its dead jobs, or payloads. Returns how many."""
        return await AsyncDeadJobs(self._host, whole_queue(self.queue)).retry(task=self.task, key=self.key)

    async def _act(self, act: str, named: str = "") -> int:
        host = self._host()
        job_queue = host.queue_of(self.queue)
        return await host.change(lambda connection: job_queue.act_on_key(connection, self.task, self.key, act, named))


async def _read(connection: Connection, keys: Keys, queue: str, task: str, key: str) -> KeyStatus:
    """Several reads, one behind the other: a look, and no snapshot."""
    at = keys.queue(queue)
    answers = await connection.post(
        ("ZSCORE", at.keys_of(task), key),
        ("ZSCORE", at.later, f"{task} {key}"),
        ("HGET", at.running(task), key),
        ("HGET", at.tried(task), key),
        ("LLEN", at.line(task, key)),
        ("LRANGE", at.line(task, key), 0, _MOST_JOBS - 1),
        ("ZCARD", at.merged(task, key)),
        ("ZRANGE", at.merged(task, key), 0, _MOST_PAYLOADS - 1, "WITHSCORES"),
    )
    # What somebody else put under such a name counts as nothing; what this user may not read is told.
    due, later, running, tried, length, texts, count, flat = [_usable(answer) for answer in answers]
    lined = [each for each in (_read_job(text, keys) for text in texts or []) if each is not None]
    run = _read_run(running)
    due_us = _number(due)
    due_ms = _number(later) if due_us is None else due_us // 1000
    waiting = "due" if due_us is not None else "empty" if due_ms is None else "later"
    tries, errors = _failures_of(tried, lined)
    payloads = [WaitingPayload(read_any_payload(text), float(score)) for text, score in zip((flat or [])[::2], (flat or [])[1::2])]
    jobs = [each["job"] for each in lined]
    state = waiting if run is None else "running"
    return KeyStatus(queue, task, key, state, due_ms, run, (length or 0) + (count or 0), payloads, jobs, tries, errors)


def _usable(answer: Any) -> Any:
    if not isinstance(answer, ReplyError):
        return answer
    if code_of(answer) == "WRONGTYPE":
        return None
    raise answer


def _number(score: bytes | None) -> int | None:
    """Of what may be infinity, too."""
    return None if score is None else int(max(0.0, min(float(score), LATEST_MS * 1000)))


def _read_run(text: bytes | None) -> KeyRun | None:
    """``<fence> <worker> <job id>``; a token is the time of its run, or follows that closely."""
    match = _RUN.fullmatch(text or b"")
    if match is None:
        return None
    fence = int(match[1])
    return KeyRun(fence, match[2].decode(), fence // 1000, match[3].decode())


def _read_job(raw: bytes, keys: Keys) -> dict[str, Any] | None:
    """A job of a line, and how it failed; None for what is none."""
    try:
        request = decode_request(raw, "", keys)
    except MalformedMessage:
        return None
    part = request.job or {}
    enqueued_ms = None if request.at_us is None else request.at_us // 1000
    job = WaitingJob(request.id, request.args, part.get("tries", 0), enqueued_ms)
    return {"job": job, "errors": part.get("errors", [])}


def _failures_of(tried: bytes | None, lined: Sequence[dict[str, Any]]) -> Any:
    """Of merged jobs the key itself has failed; in a line its first job."""
    if tried is not None:
        try:
            part = read_job_part(json.loads(tried))
            return part["tries"], part["errors"]
        except (ValueError, RecursionError):
            # Somebody else's: as good as none.
            pass
    return (lined[0]["job"].tries, lined[0]["errors"]) if lined else (0, [])
