"""A queue's operations, one atomic step each; nothing above writes a Redis command of a queue."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from ..redis.client import Word
from ..redis.connection import Connection
from ..redis.library import answer_to, function_call, run
from ..redis.refusals import ReplyError, first, is_full
from ..wire.answers import (
    Adopted,
    Beat,
    Claimed,
    HeldText,
    Pushed,
    read_adopted,
    read_beat,
    read_claimed,
    read_pushed,
    texts_of,
)
from ..wire.clock import ignore
from ..wire.keys import Keys
from .batches import MAX_BATCH_BYTES

#: A hub's push numbers are remembered this long, and a push in doubt is repeated for half of it at most.
PUSH_MEMORY_MS = 60_000
#: Replies that nobody fetches go after this long.
REPLY_TTL_MS = 60_000
#: Each live worker has read the word by then: they look every second.
CANCEL_MEMORY_MS = 5000
_ADOPT_BATCH = 64
#: Jobs that are kept when they were given up; the oldest make room, and go after so many days.
MAX_DEAD = 10_000
DEAD_MS = 180 * 24 * 3600 * 1000
#: A worker that looks after what is due and does not beat for this long is replaced by another one.
TURN_MS = 1200
#: This worker leaves it to others to report its queue's length.
_REPORTS_MS = 0


class MergedTask(NamedTuple):
    """A task that merges its jobs: how many keys a run of it gets at the most, and how many payloads of each."""

    task: str
    batch: int
    max_payloads: int


class ClaimOptions(NamedTuple):
    """What a worker asks a claim for."""

    #: Idle slots.
    slots: int
    #: How many of them may go to jobs.
    jobs: int
    #: The bell is waited for first, for so many seconds, and those of the jobs when they are wanted; 0: it is not.
    wait_s: float
    #: It is to be known when the wait has arrived, so that it can be ended.
    is_deaf: bool = False
    #: Which tasks merge their jobs.
    merging: Sequence[MergedTask] = ()
    #: The epoch of the queue's shards, as the last beat told it; 0: it has none.
    epoch: int = 0


class PostedClaim(NamedTuple):
    posted: asyncio.Future[list[Any]]
    call: list[Word]
    wait: bool
    #: How Redis calls the connection, answered when the wait behind it has arrived; None for a wait that is not deaf.
    arrived: asyncio.Future[list[Any]] | None


class BellWait(NamedTuple):
    """A wait for the bells of several queues that was sent."""

    answer: asyncio.Future[list[Any]]
    #: How Redis calls the connection, answered when the wait behind it has arrived.
    arrived: asyncio.Future[list[Any]]
    #: Of each bell: which of the queues it is of, and what it rings for.
    bells: dict[str, Rung]


class Rung(NamedTuple):
    #: Which of the queues.
    at: int
    #: ``calls``, ``jobs`` or ``due``.
    kind: str


class Queue:
    def __init__(self, name: str, keys: Keys) -> None:
        self.name = name
        self.keys = keys.queue(name)
        self._all_keys = keys

    async def push(self, connection: Connection, hub_id: str, number: int, max_length: int, messages: list[str], counted_at_us: int) -> Pushed:
        keys = [self.keys.calls, self.keys.bell, self.keys.pushed(hub_id)]
        args: list[Word] = [number, PUSH_MEMORY_MS, max_length, counted_at_us, *messages]
        return read_pushed(await run(connection, "push", keys, args))

    def post_claim(self, connection: Connection, worker_id: str, wanted: ClaimOptions) -> PostedClaim:
        """
        Asks for requests for idle slots, in this turn of the loop; ``claimed`` has the answer. A wait goes in the same write: Redis
        runs the claim the moment a bell rings.
        """
        queue = self.keys
        keys = [queue.calls, queue.bell, queue.held(worker_id), queue.leases, queue.jobs, queue.job_bell]
        args: list[Word] = [worker_id, wanted.slots, wanted.jobs, MAX_BATCH_BYTES, wanted.epoch]
        if wanted.jobs > 0:
            for merged in wanted.merging:
                args += merged
        call = function_call("claim", keys, args)
        if wanted.wait_s <= 0:
            return PostedClaim(connection.post(call), call, False, None)
        bells = [queue.bell, queue.job_bell, queue.due_bell] if wanted.jobs > 0 else [queue.bell]
        arrived = connection.post(("CLIENT", "ID")) if wanted.is_deaf else None
        return PostedClaim(connection.post(("BLPOP", *bells, str(wanted.wait_s)), call), call, True, arrived)

    @staticmethod
    def post_wait(connection: Connection, queues: Sequence[tuple[Queue, bool]], seconds: float) -> BellWait:
        """
        Waits for the bells of these, in this turn of the loop: those of calls before those of jobs, which are listened to where they are
        wanted.
        """
        bells = {queue.keys.bell: Rung(at, "calls") for at, (queue, _) in enumerate(queues)}
        for at, (queue, wants_jobs) in enumerate(queues):
            if wants_jobs:
                bells.update({queue.keys.job_bell: Rung(at, "jobs"), queue.keys.due_bell: Rung(at, "due")})
        arrived = connection.post(("CLIENT", "ID"))
        return BellWait(connection.post(("BLPOP", *bells, str(seconds))), arrived, bells)

    @staticmethod
    async def rung(wait: BellWait) -> Rung | None:
        """Which bell rang; None when none did, or the wait was ended."""
        found = first(await wait.answer)
        return None if found is None else wait.bells[found[0].decode()]

    @staticmethod
    async def look_at_bells(connection: Connection, queue: Queue) -> Sequence[bool]:
        """Whether those for calls and for jobs have a token: there is work that nobody has been woken for."""
        answers = await connection.post(("LLEN", queue.keys.bell), ("LLEN", queue.keys.job_bell))
        return [isinstance(answer, int) and answer > 0 for answer in answers]

    def end_wait(self, connection: Connection, client_id: int) -> None:
        """Ends a wait for the bell early, over another connection; does nothing when it is over. Refused, it ends by itself."""
        if connection.is_ready:
            ignore(connection.post(("CLIENT", "UNBLOCK", client_id)))

    async def claimed(self, connection: Connection, claim: PostedClaim, on_due_bell: Callable[[], None]) -> Claimed | None:
        """What a claim took; None when the lease has ended. ``on_due_bell``: what woke it is a job that is due before all others."""
        answer = await answer_to(connection, claim.posted, claim.call)
        if claim.wait:
            # A bell that cannot be waited for, answered ahead of the claim, must not make this a busy loop.
            rung = first(claim.posted.result())
            if rung is not None and rung[0].decode() == self.keys.due_bell:
                on_due_bell()
        return read_claimed(answer)

    def reply(self, connection: Connection, hub_id: str, replies: list[bytes]) -> asyncio.Future[None]:
        """
        Puts replies on a hub's list, posted at once; the future raises what was refused. As two plain commands, because the function
        costs Redis three times as much, and more the longer the replies are. A full Redis refuses the plain push and takes the
        function.
        """
        key = self._all_keys.reply(hub_id)
        posted = connection.post(("RPUSH", key, *replies), ("PEXPIRE", key, REPLY_TTL_MS))

        async def outcome() -> None:
            answer = (await posted)[0]
            if isinstance(answer, ReplyError):
                if not is_full(answer):
                    raise answer
                await run(connection, "reply", [key], [REPLY_TTL_MS, *replies])

        return asyncio.ensure_future(outcome())

    async def taken(self, connection: Connection, hub_id: str, id: str) -> int | None:
        """How many chunks of a stream its caller says that it has taken; None where it says nothing."""
        said = await connection.one("GET", self._all_keys.taken(hub_id, id))
        return int(said) if said is not None and said.isdigit() and len(said) <= 16 else None

    def release(self, connection: Connection, worker_id: str, ids: Sequence[str]) -> Awaitable[None]:
        """
        Forgets settled requests, posted at once. Never sent before their replies are in Redis: a crash in between repeats a reply,
        which is harmless.
        """
        posted = connection.post(("HDEL", self.keys.held(worker_id), *ids))

        async def outcome() -> None:
            first(await posted)

        return outcome()

    async def beat(self, connection: Connection, worker_id: str, lease_ms: int, is_new: bool, moves: bool = False, ticks: bool = False) -> Beat:
        """With ``moves`` this worker looks after what is due, with ``ticks`` after the times of schedules, unless another one does."""
        queue = self.keys
        keys = [queue.leases, queue.cancelled, queue.reporter, queue.calls, queue.paused, queue.held(worker_id), queue.jobs]
        turns_ms = [TURN_MS if moves else 0, TURN_MS if moves and ticks else 0]
        args: list[Word] = [worker_id, lease_ms, 1 if is_new else 0, CANCEL_MEMORY_MS, _REPORTS_MS, *turns_ms]
        return read_beat(await run(connection, "beat", keys, args))

    async def handback(self, connection: Connection, worker_id: str, side: str, ids: Sequence[str]) -> int:
        """Puts held requests back as they are. Returns how many were still held."""
        queue = self.keys
        keys = [queue.held(worker_id), queue.calls, queue.bell, queue.jobs, queue.job_bell]
        return int(await run(connection, "handback", keys, [side, *ids]))

    async def adopt(self, connection: Connection, lost_id: str, worker_id: str) -> Adopted | None:
        """None: the other worker lives, or this one has no lease itself."""
        queue = self.keys
        keys = [queue.leases, queue.held(lost_id), queue.held(worker_id)]
        keys += [queue.calls, queue.bell, queue.jobs, queue.job_bell]
        args: list[Word] = [lost_id, worker_id, _ADOPT_BATCH, MAX_BATCH_BYTES, MAX_DEAD, DEAD_MS]
        return read_adopted(await run(connection, "adopt", keys, args))

    async def cancel(self, connection: Connection, id: str, text: str) -> bool:
        """True when the request still waited and is gone now; else the worker that runs it is told with its next beat."""
        keys = [self.keys.calls, self.keys.cancelled]
        return bool(await run(connection, "cancel", keys, [id, text, CANCEL_MEMORY_MS]) == 1)

    async def held_ids(self, connection: Connection, worker_id: str) -> list[str]:
        return texts_of(await connection.one("HKEYS", self.keys.held(worker_id)))

    async def held_texts(self, connection: Connection, worker_id: str, ids: Sequence[str]) -> list[HeldText]:
        """What is held under some of these ids: one after the other, until the texts are as long as an answer may be."""
        found: list[HeldText] = []
        size = 0
        for id in ids:
            if size >= MAX_BATCH_BYTES:
                break
            text = await connection.one("HGET", self.keys.held(worker_id), id)
            if text is not None:
                found.append((id, text))
                size += len(text)
        return found

    async def leave(self, connection: Connection, worker_id: str, started: list[str]) -> int:
        """Ends the lease and puts back all that may be run by another worker. Returns how many went back."""
        queue = self.keys
        held = queue.held(worker_id)
        keys = [held, queue.calls, queue.bell, queue.leases, queue.jobs, queue.job_bell, queue.reporter]
        return int(await run(connection, "leave", keys, [worker_id, *started]))
