"""What a worker of several places knows of their bells when it does not wait for them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

from ..queue.queue import ClaimOptions, Queue
from ..redis.connections import BLOCK_S
from ..wire.clock import ignore, spawn
from .served_queue import ServedQueue

#: While one place keeps it busy it looks so often what the bells of the others say.
_LOOK_S = 0.02


class BellWatch:
    def __init__(self, places: list[ServedQueue], is_waited_for: Callable[[ServedQueue], bool]) -> None:
        #: As they are at the moment.
        self._places = places
        self._is_waited_for = is_waited_for
        self._looked_at = self._doubted_at = -math.inf
        self._looking: set[asyncio.Task[Any]] = set()

    @property
    def doubts_at(self) -> float:
        return self._doubted_at + BLOCK_S

    def doubt(self, now: float) -> None:
        """A token may be lost with whoever took it; while another place rings again and again, no wait for that one's comes to its end."""
        if now >= self.doubts_at:
            self._doubted_at = now
            for place in self._places:
                place.hear(True, True)

    def look_beside(self, place: ServedQueue, now: float) -> None:
        """What the bells of the other places say."""
        if now < self._looked_at + _LOOK_S:
            return
        self._looked_at = now
        for other in self._places:
            if other is not place and other.is_awake(now) and other.commands.is_ready and not self._is_waited_for(other):
                spawn(self._look_at(other), self._looking)

    def pass_tokens(self) -> None:
        """There is no room for what was rung for. A claim for no slot rings again for what waits."""
        for place in self._places:
            if place.has_token and place.commands.is_ready:
                place.has_token = False
                nothing = ClaimOptions(0, 1, False, False, (), place.epoch())
                ignore(place.queue.post_claim(place.commands, place.worker_id(), nothing).posted)

    async def _look_at(self, place: ServedQueue) -> None:
        """The next look, or the next wait, tells what this does not."""
        try:
            place.hear(*await Queue.look_at_bells(place.commands, place.queue))
        except Exception:
            return
