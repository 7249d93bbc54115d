"""One of the places that a worker serves, as its claims see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..queue.queue import MergedTask, Queue
from ..redis.connection import Connection
from ..wire.answers import Claimed
from ..wire.clock import backoff_s, now_s
from ..wire.redis_clock import RedisClock


@dataclass(eq=False)
class ServedQueue:
    queue: Queue
    #: Where it waits for its bells, and where it claims when it need not wait.
    waiting: Connection
    commands: Connection
    clock: RedisClock
    #: Tasks that merge their jobs.
    merging: Sequence[MergedTask]
    worker_id: Callable[[], str]
    #: Of the queue's shards, as its last beat told it.
    epoch: Callable[[], int]
    #: How long ago, on Redis' clock, a claim was made; also finds out whether the lease is still held.
    age_s: Callable[[Claimed], Awaitable[float]]
    #: Starts what a claim brought, and says how long to rest before the next one, and whether of jobs alone.
    take: Callable[[Claimed, str, float], tuple[float, bool]]
    on_no_lease: Callable[[], Awaitable[Any]]
    on_due_bell: Callable[[], None]
    on_problem: Callable[[Exception], None]

    #: What the last claims left in its lists, and bells told of since.
    calls_wait: bool = True
    jobs_wait: bool = False
    is_paused: bool = False
    #: It waits for its connection.
    is_away: bool = False
    #: A bell's token was taken, and nothing was claimed since.
    has_token: bool = False
    rests_until: float = 0.0
    #: The same of its jobs, while its calls are taken.
    jobs_rest_until: float = 0.0
    #: Claims in a row that brought no answer.
    failures: int = 0

    def is_awake(self, now: float) -> bool:
        """Whether it may be claimed from."""
        return not self.is_paused and not self.is_away and now >= self.rests_until

    def begin_claim(self, jobs: int) -> None:
        """What is heard from here on may have come behind the claim."""
        self.calls_wait = self.has_token = False
        if jobs > 0:
            self.jobs_wait = False

    def learn(self, claimed: Claimed) -> None:
        self.failures = 0
        self.hear(claimed.left > 0, claimed.jobs_left > 0)

    def hear(self, calls: bool, jobs: bool) -> None:
        """What bells tell: calls wait, or jobs."""
        self.calls_wait = self.calls_wait or calls
        self.jobs_wait = self.jobs_wait or jobs

    def takes_jobs(self, now: float) -> bool:
        """Whether its jobs may be claimed when it is."""
        return now >= self.jobs_rest_until

    def rest(self, seconds: float, of_jobs: bool = False) -> None:
        """Nothing is claimed for so long, or no jobs."""
        if of_jobs:
            self.jobs_rest_until = now_s() + seconds
        else:
            self.rests_until = now_s() + seconds

    def rest_after_failure(self, first_s: float) -> None:
        """Longer each time, until there is an answer."""
        self.rest(backoff_s(self.failures, first_s, 1.0))
        self.failures += 1

    def resume(self) -> None:
        self.is_paused = False
        # Tokens of the bells may be gone, and what they announced still waits.
        self.hear(True, True)
