"""Takes work for idle slots and for nothing else: with no slot idle it does not touch Redis."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...queue.queue import ClaimOptions, PostedClaim
from ...redis.connection import Connection
from ...redis.refusals import ReplyError, first
from ...wire.answers import Claimed
from ...wire.clock import Stop, backoff_s, now_s, sleep, spawn
from ..bell_waits import BellWaits, wait_of
from ..bell_watch import BellWatch
from ..served_queue import ServedQueue
from ..slot_pool import SlotPool
from ..wake_up import WakeUp

#: An answer that is older, because this process was stopped or got no turn, is only used after a look at the lease.
_STALE_US = 100_000


class _Sent(NamedTuple):
    """A claim that is under way."""

    place: ServedQueue
    worker_id: str
    connection: Connection
    claim: PostedClaim
    #: What was known to wait there.
    knew: tuple[bool, bool]
    #: Monotonic seconds.
    at: float


class FetchLoop:
    """
    1. One claim is under way at a time, for one of the places that the worker serves, so that they share its slots.
    2. While the last claims left work in the lists, the next is sent at once, on the commands connection: replies are ahead of it
       there. Any of the places with work is as likely, and calls of all go before jobs of any. Else it waits for the bells: for those of a
       single place together with the claim behind them, for those of several apart from it.
    3. While as many jobs run as may, it does not listen for further ones: their bell would wake it again and again. When one of them
       ends, that wait is ended.
    4. While one place keeps it busy it looks at the bells of the others. A token may be lost with whoever took it, so none is trusted for
       longer than a wait.
    5. After a claim that brought what only others can run its place rests, longer each time: that is in the list again. Were these jobs,
       only its jobs do, and calls of a worker's own tasks need not wait for jobs of others. So does a place whose claims fail.
    6. While the queue is paused it takes nothing; the claim behind a wait that is ended then still runs, because it is in Redis.
    7. On a Cluster nobody can wait for keys of different slots at once: each of several places has a wait of its own, which goes on while
       others are claimed from. A token that comes when there is no room is passed on.
    """

    def __init__(self, pool: SlotPool) -> None:
        self._pool = pool
        self._places: list[ServedQueue] = []
        self._stopping = Stop()
        self._waits = BellWaits(self._on_rung, self._failed)
        self._under_way: asyncio.Task[None] | None = None
        self._claiming: _Sent | None = None
        #: The answer of that claim is.
        self._is_here = False
        self._is_scheduled = False
        self._wake_up = WakeUp(self._next)
        self._watch = BellWatch(self._places, self._waits.is_on)
        #: The wait of a single place that listens for calls alone, though jobs are taken here.
        self._deaf: PostedClaim | None = None
        self._beside: set[asyncio.Task[Any]] = set()

    # What others tell.

    def add(self, place: ServedQueue) -> None:
        """From now on it is served, too."""
        if place in self._places:
            return
        self._places.append(place)
        # Those that wait do not know of it.
        self._end_single_wait()
        self._waits.end_those(lambda wait: True)
        self._next()

    async def remove(self, place: ServedQueue) -> None:
        """The contrary. Returns when no claim is under way there."""
        if place in self._places:
            self._places.remove(place)
        if self._claiming is not None and self._claiming.place is place:
            self._end_single_wait()
        self._waits.end_those(lambda wait: place in wait.places)
        is_claiming = self._claiming is not None and self._claiming.place is place
        claim = [self._under_way] if is_claiming and self._under_way else []
        tasks = [*claim, *self._waits.tasks(place)]
        if tasks:
            await asyncio.wait(tasks)

    def slots_idle(self) -> None:
        """
        Slots became idle; called in the turn of the loop in which the replies of what they ran were sent, or their releases
        confirmed.
        """
        # After a claim the next one is scheduled anyway; only while work waits it pays to send it in one write with these.
        if not self._is_scheduled or any(place.calls_wait or place.jobs_wait for place in self._places):
            self._next()
        if self._pool.job_room <= 0:
            return
        deaf, arrived = self._deaf, self._deaf and self._deaf.arrived
        if deaf is not None and arrived is not None and self._claiming is not None:
            self._deaf = None
            spawn(self._end_deaf(self._claiming.place, deaf, arrived), self._beside)
        self._waits.end_those(lambda wait: wait.is_deaf)

    def pause(self, place: ServedQueue) -> None:
        """
        Takes nothing more there until ``resume``. To be said with each beat of the pause: what ends a wait may overtake that wait, which
        is sent on another connection.
        """
        place.is_paused = True
        if self._claiming is not None and self._claiming.place is place:
            self._end_single_wait()
        self._waits.end_those(lambda wait: place in wait.places)

    def resume(self, place: ServedQueue) -> None:
        place.resume()
        self._next()

    def arriving_since(self, place: ServedQueue) -> float:
        """
        When a claim was sent whose answer is coming in, which takes seconds on a slow link, or is here and not taken yet; infinite where
        there is none.
        """
        sent = self._claiming
        if sent is None or sent.place is not place:
            return math.inf
        return sent.at if self._is_here or sent.connection.is_receiving else math.inf

    def stop(self) -> None:
        """No claim is started any more. One that waits for the bell is left to whoever closes its connection."""
        self._stopping.set()
        self._wake_up.cancel()

    async def settled(self) -> None:
        tasks = [*([self._under_way] if self._under_way else []), *self._waits.tasks()]
        if tasks:
            await asyncio.wait(tasks)

    # Which place is next.

    def _next(self) -> None:
        if self._under_way is not None or self._stopping.is_set:
            return
        if self._pool.idle <= 0:
            self._watch.pass_tokens()
            return
        now = now_s()
        if len(self._places) > 1:
            self._watch.doubt(now)
        awake = [place for place in self._places if place.is_awake(now)]
        place = self._choose(awake)
        if place is not None:
            self._begin(place, False, awake)
        elif len(self._places) > 1:
            self._listen(awake)
        elif awake:
            self._begin(awake[0], True, awake)
        self._wake_later(now)

    def _choose(self, awake: Sequence[ServedQueue]) -> ServedQueue | None:
        """The one to claim from without waiting for a bell."""
        ready = [place for place in awake if place.calls_wait]
        if not ready and self._pool.job_room > 0:
            now = now_s()
            ready = [place for place in awake if place.jobs_wait and place.takes_jobs(now)]
        return random.choice(ready) if len(ready) > 1 else ready[0] if ready else None

    def _begin(self, place: ServedQueue, waits: bool, awake: Sequence[ServedQueue]) -> None:
        connection = place.waiting if waits else place.commands
        if not connection.is_ready:
            self._wait_for(place, connection)
            return
        if len(self._places) > 1:
            self._watch.look_beside(place, now_s())
        # Here and now, so that it goes in one write with the replies ahead of it.
        others_call = any(other is not place and other.calls_wait for other in awake)
        self._claiming = sent = self._send(place, connection, waits, 0 if others_call or not place.takes_jobs(now_s()) else self._pool.job_room)
        self._under_way = asyncio.get_running_loop().create_task(self._claim(sent))
        self._under_way.add_done_callback(self._ended)

    def _wait_for(self, place: ServedQueue, connection: Connection) -> None:
        """Others are served meanwhile."""
        place.is_away = True

        async def until_ready() -> None:
            await connection.when_ready(self._stopping)
            place.is_away = False
            self._next()

        spawn(until_ready(), self._beside)
        # At once, in a later turn of the loop: there may be another one.
        asyncio.get_running_loop().call_soon(self._next)

    def _send(self, place: ServedQueue, connection: Connection, waits: bool, jobs: int) -> _Sent:
        worker_id = place.worker_id()
        is_deaf = waits and self._pool.takes_jobs and self._pool.job_room <= 0
        wait_s = wait_of([place], now_s()) if waits else 0
        wanted = ClaimOptions(self._pool.idle, jobs, wait_s, is_deaf, place.merging, place.epoch())
        claim = place.queue.post_claim(connection, worker_id, wanted)
        self._deaf = claim if is_deaf else None
        knew = (place.calls_wait, place.jobs_wait)
        place.begin_claim(jobs)
        return _Sent(place, worker_id, connection, claim, knew, now_s())

    def _ended(self, _: Any) -> None:
        self._under_way = self._claiming = None
        self._is_here = False
        self._is_scheduled = True
        # Behind the replies of what finishes at once: writing the next wait first would hold them up.
        asyncio.get_running_loop().call_soon(self._again)

    def _again(self) -> None:
        self._is_scheduled = False
        self._next()

    def _wake_later(self, now: float) -> None:
        """When a rest is over, or bells are doubted."""
        ends = [place.rests_until for place in self._places if place.rests_until > now]
        self._wake_up.set(min([*ends, self._watch.doubts_at if len(self._places) > 1 else math.inf]))

    # What a claim brings.

    async def _claim(self, sent: _Sent) -> None:
        place = sent.place
        try:
            claimed = await place.queue.claimed(sent.connection, sent.claim, place.on_due_bell)
            self._is_here = True
            if claimed is not None:
                await self._took(claimed, sent)
                return
            # The bell's token is taken, and what it announced still waits.
            place.hear(True, True)
            await place.on_no_lease()
            # A beat that failed, on a full disk for one, must not make this a busy loop.
            if place.failures > 0:
                place.rest_after_failure(0.05)
            place.failures = max(1, place.failures)
        except Exception as error:
            if isinstance(error, ReplyError):
                place.hear(*sent.knew)
            self._failed(place, error)

    def _failed(self, place: ServedQueue, error: Exception) -> None:
        # The answer may be lost with the claim made: what it took is found by reconcile. A wait that broke may have taken
        # the token with it, and what that announced still waits.
        if not isinstance(error, ReplyError):
            place.hear(True, True)
        elif not self._stopping.is_set:
            place.on_problem(error)
        place.rest_after_failure(0.02)

    async def _took(self, claimed: Claimed, sent: _Sent) -> None:
        place = sent.place
        now_us = place.clock.at_us(now_s())
        # Deadlines went on meanwhile, and so did the lease: what this brought may be somebody else's by now.
        is_stale = bool(claimed.requests) and (now_us == 0 or now_us - claimed.now_us > _STALE_US)
        age_s = await self._age_of(claimed, sent) if is_stale else 0.0
        place.learn(claimed)
        # Under an identity that was lost: others have adopted it.
        rest_s, of_jobs = place.take(claimed, sent.worker_id, age_s) if sent.worker_id == place.worker_id() else (0.0, False)
        if rest_s > 0:
            place.rest(rest_s, of_jobs)

    async def _age_of(self, claimed: Claimed, sent: _Sent) -> float:
        """
        Asked until there is an answer: on a slow link the other connection may be made anew just then, and what was claimed would have to
        come once more, again and again.
        """
        place, attempt = sent.place, 0
        while True:
            try:
                return await place.age_s(claimed)
            except ConnectionError:
                if self._stopping.is_set or sent.worker_id != place.worker_id():
                    raise
            await sleep(backoff_s(attempt, 0.02, 1.0), self._stopping)
            await place.commands.when_ready(self._stopping)
            attempt += 1

    # Bells.

    async def _end_deaf(self, place: ServedQueue, deaf: PostedClaim, arrived: asyncio.Future[list[Any]]) -> None:
        """Refused or lost: the wait ends by itself within seconds."""
        try:
            client_id = int(first(await arrived))
        except Exception:
            return
        if not deaf.posted.done():
            place.queue.end_wait(place.commands, client_id)

    def _end_single_wait(self) -> None:
        """That of a single place, with the claim behind it."""
        sent = self._claiming
        client_id = sent.place.waiting.client_id if sent is not None and sent.claim.wait else None
        if sent is not None and client_id is not None:
            sent.place.queue.end_wait(sent.place.commands, client_id)

    def _listen(self, awake: Sequence[ServedQueue]) -> None:
        apart = [place for place in awake if not self._waits.is_on(place)]
        if not apart:
            return
        if self._places[0].commands.is_cluster:
            for place in apart:
                self._open([place])
        elif len(apart) == len(awake):
            self._open(awake)
        else:
            # The one that is under way does not hear of these.
            self._waits.end_those(lambda wait: True)

    def _open(self, places: Sequence[ServedQueue]) -> None:
        waiting = places[0].waiting
        if not waiting.is_ready:
            self._wait_for(places[0], waiting)
            return
        wants_jobs = self._pool.job_room > 0
        self._waits.open(places, wants_jobs, self._pool.takes_jobs and not wants_jobs, self._next)

    def _on_rung(self, place: ServedQueue, kind: str) -> None:
        if kind == "due":
            place.on_due_bell()
        else:
            place.has_token = True
            place.hear(kind == "calls", kind == "jobs")
