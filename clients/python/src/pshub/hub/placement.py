"""Into which shard of a queue work goes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..jobs.chain import Step
from ..queue.job_queue import JobQueue
from ..queue.shards import Names, Shards, former_home_of, home_of, open_shards, read_shards
from ..redis.connection import Connection
from ..wire.clock import now_s, sleep
from ..wire.errors import NotEnqueued
from ..wire.keys import Keys

#: So many keys are asked about at once.
_KEYS_AT_ONCE = 1000
#: A change is noted in all places within milliseconds; a place that lost it is told by workers, with a beat.
_PATIENCE_S = 5.0
_LOOK_AGAIN_S = 0.01

#: A key of the jobs of a task in a queue.
_Key = tuple[str, str, str]


class Ask(Protocol):
    """Asks Redis. Raises HubError."""

    def __call__(self, work: Callable[[Connection], Awaitable[Any]]) -> Awaitable[Any]: ...


class Spread(NamedTuple):
    """A queue that is spread over shards, as a route has it."""

    shards: Shards
    #: Those that live workers serve, and slots of these.
    live: Mapping[str, int]


class Placement:
    def __init__(self, connection: Connection, keys: Keys, ask: Ask) -> None:
        self._connection = connection
        self._keys = keys
        self._ask = ask
        self._next = 0

    async def shards_of(self, queue: str) -> Shards | None:
        """None for a queue that has none, or whose record this user may not read."""
        shards = await read_shards(self._connection, self._keys, queue)
        return shards if shards and (len(shards.names) > 1 or shards.earlier) else None

    async def home_of(self, queue: str, task: str, key: str) -> str:
        """Where a key of a queue is."""
        shards = await self.shards_of(queue)
        return queue if shards is None else await self._home_in(queue, shards, task, key)

    async def spread(self, steps: Sequence[Step]) -> list[Step]:
        """
        The same jobs, each in a shard of its queue where that is spread over several. Those of merged tasks, and those that are unique,
        stay in the queue's own place, which it always has.
        """
        homes = await self._homes_of(steps)
        return [step._replace(queue=self._place_of(step, homes), shards=None) if step.shards else step for step in steps]

    async def _homes_of(self, steps: Sequence[Step]) -> dict[_Key, str]:
        wanted = {key: step.shards for step in steps if step.shards for key in [_key_of(step)] if key}
        keys = list(wanted)
        homes: dict[_Key, str] = {}
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = keys[start : start + _KEYS_AT_ONCE]
            found = await asyncio.gather(*(self._home_in(key[0], wanted[key], *key[1:]) for key in some))
            homes.update(zip(some, found))
        return homes

    def _place_of(self, step: Step, homes: Mapping[_Key, str]) -> str:
        job, key = step.job or {}, _key_of(step)
        if key is not None:
            return homes[key]
        if step.shards is None or "merged" in job or "unique" in job:
            return step.queue
        return self._next_of(open_shards(step.shards))

    def _next_of(self, names: Names) -> str:
        """One after the other, of those that can be reached."""
        turn = self._next
        in_turn = [names[(turn + at) % len(names)] for at in range(len(names))]
        ready = (at for at, name in enumerate(in_turn) if self._connection.at(self._keys.queue(name).jobs).is_ready)
        place = next(ready, 0)
        self._next = turn + place + 1
        return in_turn[place]

    async def _home_in(self, queue: str, known: Shards, task: str, key: str) -> str:
        """
        Home, unless jobs of a key that came before the number of shards was changed are where they were then: behind these it keeps its
        order. A place that knows other shards than this hub has it look again; while a change is being noted, some do.
        """
        shards: Shards | None = known
        end = now_s() + _PATIENCE_S
        while shards is not None:
            former = former_home_of(shards, key)
            has = False if former is None else await self._has_key(former, task, key, shards.epoch)
            if has is not None:
                return former if former is not None and has else home_of(open_shards(shards), key)
            if now_s() >= end:
                message = f"The shards of queue {queue} are changing, and not all of them know the new number yet."
                raise NotEnqueued(message, task=task)
            await sleep(_LOOK_AGAIN_S)
            shards = await self.shards_of(queue)
        return queue

    async def _has_key(self, place: str, task: str, key: str, epoch: int) -> bool | None:
        queue = JobQueue(place, self._keys)
        found: bool | None = await self._ask(lambda connection: queue.has_key(connection, task, key, epoch))
        return found


def _key_of(step: Step) -> _Key | None:
    job = step.job or {}
    return (step.queue, step.task, job["key"]) if "key" in job and "merged" not in job else None


def lighter_of(spread: Spread, queue: str, why_down: Callable[[str], str | None], in_flight: Callable[[str], int]) -> str:
    """Of two live shards that are drawn the one with fewer calls under way for each slot; the queue itself where none is live."""
    drawn = random.sample(list(spread.live), min(2, len(spread.live)))
    if not drawn:
        return queue

    def weight(shard: str) -> tuple[bool, float]:
        return why_down(shard) is not None, in_flight(shard) / spread.live[shard]

    return min(drawn, key=weight)
