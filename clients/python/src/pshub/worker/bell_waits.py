"""A worker's waits for the bells of several places: claims follow then, one by one, because together they would bring too much."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from ..queue.queue import BellWait, Queue
from ..redis.connections import BLOCK_S
from ..redis.refusals import first
from ..wire.clock import now_s, spawn
from .served_queue import ServedQueue


class Wait:
    """One that is under way. ``is_deaf``: it listens for calls alone, though jobs are taken here."""

    def __init__(self, places: Sequence[ServedQueue], posted: BellWait, is_deaf: bool) -> None:
        self.places = list(places)
        self.posted = posted
        self.is_deaf = is_deaf
        self.is_ending = False
        self.task: asyncio.Task[None] | None = None


def wait_of(places: Sequence[ServedQueue], now: float) -> float:
    """For how many seconds to wait for the bells of these: until one of them takes jobs again that does not now."""
    rests = [place.jobs_rest_until - now for place in places if not place.takes_jobs(now)]
    # To Redis, 0 is for ever.
    return max(0.01, round(min([BLOCK_S, *rests]), 3))


class BellWaits:
    """
    What ends a wait early goes over another connection, and only once Redis said how it calls the one that waits: it cannot
    overtake the wait then. Who may not ask for that waits to the end, some two seconds.
    """

    def __init__(self, on_rung: Callable[[ServedQueue, str], None], on_failed: Callable[[ServedQueue, Exception], None]) -> None:
        #: Told which bell it was: ``calls``, ``jobs`` or ``due``.
        self._on_rung = on_rung
        self._on_failed = on_failed
        self._waits: set[Wait] = set()
        self._ending: set[asyncio.Task[None]] = set()

    def is_on(self, place: ServedQueue) -> bool:
        return any(place in wait.places for wait in self._waits)

    def open(self, places: Sequence[ServedQueue], wants_jobs: bool, is_deaf: bool, on_over: Callable[[], None]) -> None:
        """All places are reached over one connection, and on a Cluster in one slot: so there it is one place."""
        now = now_s()
        wanted = [(place.queue, wants_jobs and place.takes_jobs(now)) for place in places]
        posted = Queue.post_wait(places[0].waiting, wanted, wait_of(places, now))
        wait = Wait(places, posted, is_deaf)
        self._waits.add(wait)
        wait.task = asyncio.get_running_loop().create_task(self._hear(wait, on_over))

    def end_those(self, is_one: Callable[[Wait], bool]) -> None:
        for wait in self._waits:
            if not wait.is_ending and is_one(wait):
                wait.is_ending = True
                spawn(self._end(wait), self._ending)

    def tasks(self, place: ServedQueue | None = None) -> list[asyncio.Task[Any]]:
        """Of those that are under way, for one place or for any."""
        return [wait.task for wait in self._waits if wait.task and (place is None or place in wait.places)]

    async def _hear(self, wait: Wait, on_over: Callable[[], None]) -> None:
        try:
            rung = await Queue.rung(wait.posted)
            if rung is not None:
                self._on_rung(wait.places[rung.at], rung.kind)
        except Exception as error:
            for place in wait.places:
                self._on_failed(place, error)
        finally:
            self._waits.discard(wait)
            on_over()

    async def _end(self, wait: Wait) -> None:
        try:
            client_id = int(first(await wait.posted.arrived))
        except Exception:
            return
        if wait in self._waits:
            place = wait.places[0]
            place.queue.end_wait(place.commands, client_id)
