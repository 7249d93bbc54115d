"""The jobs of a queue that were given up, on an event loop."""

from __future__ import annotations

import re
from typing import Any, AsyncIterator, Awaitable, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..redis.connection import Connection
from ..wire.errors import HubError, InvalidArgs
from ..wire.job_part import JobFailure
from ..wire.message import MalformedMessage, decode_request
from ..wire.payload import PayloadProblem, encode_payload
from .job import JobHost


class DeadJob(NamedTuple):
    """
    A job that was given up.

    :ivar task: ``name:version``
    :ivar from_: name of the service that enqueued it
    :ivar at_ms: when it was given up, Redis milliseconds
    :ivar tries: how often it was tried
    :ivar errors: its last ten failures, oldest first: ``at`` (Redis milliseconds), ``code``, ``message``
    :ivar following: how many steps of its chain wait for it
    """

    id: str
    queue: str
    task: str
    args: Any
    from_: Optional[str]
    at_ms: int
    tries: int
    errors: List[JobFailure]
    following: int


#: Read at a time: each of them may be a megabyte.
_PAGE = 20
#: Sent at a time.
_BATCH = 20
#: Stands for arguments that are to stay as they are.
KEEP: Any = object()
_FILTERS = ("ids", "task", "code", "before_ms")
_HEAD = re.compile(r'\{"at":[0-9]+,"ttl":[0-9]+,("id":"[A-Za-z0-9_-]+",)(?:"job":(?=\{))?')
_BEFORE_ARGS = re.compile(r'"task":"(?:[^"\\]|\\.)*","args":')
_LOSSES = re.compile(r',"losses":[0-9]+\}\Z')
_TRIES = re.compile(r'\{"tries":[0-9]+')


class AsyncDeadJobs:
    """
    The jobs of a queue that were given up: they are kept for 180 days, 10,000 of them at the most. Filters are ``ids``, ``task``
    (``name:version``), ``code`` (of the last failure) and ``before_ms`` (given up before this, Redis milliseconds); what is not said does
    not matter. Without any: all.
    """

    def __init__(self, host: Callable[[], JobHost], queue: str) -> None:
        self.queue = queue
        self._host = host

    async def count(self, **matching: Any) -> int:
        """How many there are, or match."""
        if not matching:
            host = self._host()
            return await host.ask(host.queue_of(self.queue).count_dead)
        return len([job async for job, _ in self._matching(matching)])

    async def list(self, limit: int = 100, **matching: Any) -> List[DeadJob]:
        """The latest first, at most ``limit``. Raises InvalidArgs for what is no filter, NotEnqueued when Redis is away, HubClosed."""
        found: List[DeadJob] = []
        async for job, _ in self._matching(matching):
            if len(found) >= limit:
                break
            found.append(job)
        return found

    async def retry(self, args: Any = KEEP, **matching: Any) -> int:
        """
        Has those that match tried again, from their first try on; a chain goes on with them.

        :param args: in the place of their own, which makes sense for one of them
        :returns: how many
        :raises HubError: as list(), InvalidArgs for arguments that are no JSON
        """
        text = None if args is KEEP else _args_text(args)

        def revive(connection: Connection, texts: Sequence[str]) -> Awaitable[int]:
            pairs = [(dead, revived_message(dead, text)) for dead in texts]
            return self._host().queue_of(self.queue).revive(connection, pairs)

        return await self._in_batches(matching, revive)

    async def delete(self, **matching: Any) -> int:
        """Removes those that match, for good. Returns how many."""
        return await self._in_batches(matching, self._host().queue_of(self.queue).delete_dead)

    async def _in_batches(
        self, matching: Mapping[str, Any], act: Callable[[Connection, Sequence[str]], Awaitable[int]]
    ) -> int:
        # All are found before the first one goes: what is read by place must not move meanwhile.
        texts = [text async for _, text in self._matching(matching)]
        count = 0
        for first in range(0, len(texts), _BATCH):
            some = texts[first : first + _BATCH]
            count += await self._host().ask(lambda connection, some=some: act(connection, some))  # type: ignore[misc]
        return count

    async def _matching(self, matching: Mapping[str, Any]) -> AsyncIterator[Tuple[DeadJob, str]]:
        host = self._host()
        job_queue, fits = host.queue_of(self.queue), _fits(matching)
        first = 0
        while True:
            found = await host.ask(lambda connection: job_queue.dead(connection, first, first + _PAGE - 1))
            for raw, at_ms in found:
                job = self._read(host, raw, at_ms)
                if job is not None and fits(job):
                    yield job, raw.decode()
            if len(found) < _PAGE:
                return
            first += _PAGE

    def _read(self, host: JobHost, raw: bytes, at_ms: int) -> Optional[DeadJob]:
        """None for what is no job."""
        try:
            request = decode_request(raw, None, host.keys)
        except MalformedMessage:
            return None
        part: Any = request.job or {}
        following = len(request.then) if isinstance(request.then, list) else 0
        tries, errors = part.get("tries", 0), part.get("errors", [])
        return DeadJob(request.id, self.queue, request.task, request.args, request.from_, at_ms, tries, errors, following)


def _fits(matching: Mapping[str, Any]) -> Callable[[DeadJob], bool]:
    """Whether a job is one of those that are meant. Raises InvalidArgs for what is no filter: it must not pass for all of them."""
    for name in matching:
        if name not in _FILTERS:
            raise _wrong(f"there is no filter '{name}'. Known are {', '.join(_FILTERS)}")
    ids, task, code, before_ms = (matching.get(name) for name in _FILTERS)
    if isinstance(ids, str):
        raise _wrong("ids must be a list of ids")
    wanted = None if ids is None else set(ids)

    def fits(job: DeadJob) -> bool:
        return (
            (wanted is None or job.id in wanted)
            and (task is None or task == job.task)
            and (code is None or (bool(job.errors) and code == job.errors[-1]["code"]))
            and (before_ms is None or job.at_ms < before_ms)
        )

    return fits


def _wrong(what: str) -> HubError:
    return InvalidArgs(f"dead jobs: {what}.")


def _args_text(args: Any) -> str:
    try:
        return encode_payload(args)
    except PayloadProblem as problem:
        raise InvalidArgs(f"The arguments are {problem}.") from None


def revived_message(dead: str, args: Optional[str] = None) -> str:
    """
    A dead job as it is enqueued again: wanted for ever, its tries counted anew, its failures still there. Made of its text, so that its
    arguments are not decoded and encoded again.
    """
    head = _HEAD.match(dead)
    # What was buried has such a beginning; what somebody else put there goes as it is.
    if head is None:
        return re.sub(r"\A\s*\{", "", dead)
    rest, part = dead[head.end() :], None
    if head[0].endswith('"job":'):
        behind = _end_of_value(rest, 0)
        part, rest = _TRIES.sub('{"tries":0', rest[:behind], count=1), rest[behind + 1 :]
    rest = _LOSSES.sub("}", rest)
    before = None if args is None else _BEFORE_ARGS.match(rest)
    if before is not None:
        rest = f"{before[0]}{args}{rest[_end_of_value(rest, before.end()) :]}"
    return f'"ttl":0,{head[1]}{"" if part is None else f"{_JOB}{part},"}{rest}'


_JOB = '"job":'
_STEP = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]', re.DOTALL)


def _end_of_value(text: str, start: int) -> int:
    """Where a value that begins there ends, in text that is JSON."""
    depth = 0
    for step in _STEP.finditer(text, start):
        char = step[0]
        if char in ("{", "["):
            depth += 1
        elif char in ("}", "]", ","):
            if depth == 0:
                return step.start()
            if char != ",":
                depth -= 1
                if depth == 0:
                    return step.end()
    return len(text)
