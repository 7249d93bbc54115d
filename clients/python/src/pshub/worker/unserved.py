"""Which tasks no worker of the queue takes at the moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ..catalogue.registrar import Whereabouts
from ..wire.clock import now_s, spawn

#: A look counts for this long, and is not repeated any sooner.
_LOOK_S = 0.5
#: For how long nobody must have taken a task: after an outage the others must have time to renew their leases.
PATIENCE_S = 2.0
_MAX_TASKS = 1000


class _Sight(NamedTuple):
    looked_at: float
    #: When the first of an unbroken row of looks found nobody who takes it.
    missing_since: float
    #: Code and message.
    verdict: tuple[str, str]


class Unserved:
    """
    A request for such a task goes from worker to worker, each of which hands it back; when it has no deadline of its own, nothing
    else would ever end that.
    """

    def __init__(self, queue_name: str, whereabouts: Callable[[str], Awaitable[Whereabouts]]) -> None:
        self._queue_name = queue_name
        #: Asks the registry.
        self._whereabouts = whereabouts
        self._sights: dict[str, _Sight] = {}
        self._looking: set[str] = set()
        self._looks: set[asyncio.Task[None]] = set()

    def verdict(self, task: str) -> tuple[str, str] | None:
        """What to answer; None as long as somebody may take it. Looks behind the question: it is asked again soon."""
        sight = self._sights.get(task)
        now = now_s()
        if (sight is None or now - sight.looked_at > _LOOK_S) and task not in self._looking:
            self._looking.add(task)
            spawn(self._look(task), self._looks)
        if sight is None or now - sight.looked_at > 2 * _LOOK_S:
            return None
        return sight.verdict if sight.looked_at - sight.missing_since >= PATIENCE_S else None

    async def _look(self, task: str) -> None:
        try:
            where = await self._whereabouts(task)
            if where.is_served:
                self._sights.pop(task, None)
            else:
                self._missed(task, where)
        except Exception:
            # The registry cannot be read; the next look may be luckier.
            pass
        finally:
            self._looking.discard(task)

    def _missed(self, task: str, where: Whereabouts) -> None:
        looked_at = now_s()
        before = self._sights.get(task)
        if before is None and len(self._sights) >= _MAX_TASKS:
            self._sights.clear()
        is_unbroken = before is not None and looked_at - before.looked_at < PATIENCE_S
        missing_since = before.missing_since if before and is_unbroken else looked_at
        self._sights[task] = _Sight(looked_at, missing_since, self._verdict_of(task, where))

    def _verdict_of(self, task: str, where: Whereabouts) -> tuple[str, str]:
        if not where.is_declared:
            return "NoSuchTask", f"No worker ever declared {task}."
        elsewhere = "" if where.served_in is None else f" It is served in queue {where.served_in}."
        return "NoWorkers", f"No live worker of queue {self._queue_name} provides {task}.{elsewhere}"
