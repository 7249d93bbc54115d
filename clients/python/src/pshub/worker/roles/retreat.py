"""Finds when a place that is no shard of its queue any more may be left."""

from __future__ import annotations

import random
from typing import Callable, Optional, Sequence

from ...queue.work_left import work_left
from ...redis.connection import Connection
from ...wire.answers import Beat
from ...wire.keys import QueueKeys
from ..slots import Slots

#: Of many workers so few look at a time: each one asks what all of them hold.
_LOOKING_AT_ONCE = 8


class Retreat:
    """
    When this worker holds nothing there, nothing waits there, and nobody else holds anything: who died holding something is adopted
    from by those that stayed.
    """

    def __init__(
        self,
        keys: QueueKeys,
        connection: Connection,
        slots: Slots,
        is_gone: Callable[[], bool],
        on_empty: Callable[[], None],
        on_problem: Callable[[Exception], None],
    ) -> None:
        self._keys = keys
        self._connection = connection
        self._slots = slots
        self._is_gone = is_gone
        self._on_empty = on_empty
        self._on_problem = on_problem
        self._is_looking = False

    async def look(self, beat: Beat, held: Optional[Sequence[str]]) -> None:
        """With each beat, and what Redis says that this worker holds."""
        if self._is_looking or held != [] or beat.ended or self._slots.known_ids() or not self._is_gone():
            return
        self._is_looking = True
        try:
            if await self._is_empty():
                self._on_empty()
        except Exception as error:
            self._on_problem(error)
        finally:
            self._is_looking = False

    async def _is_empty(self) -> bool:
        workers = await self._connection.one("ZCOUNT", self._keys.leases, "-inf", "+inf")
        return random.random() * workers < _LOOKING_AT_ONCE and await work_left(self._connection, self._keys) == 0
