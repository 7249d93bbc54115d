"""Finds claims whose answers were lost on the wire."""

from __future__ import annotations

from typing import Callable, List, Set, Tuple

from ..connection import Connection
from ..queue import Queue

Found = List[Tuple[str, bytes]]


class Reconcile:
    """
    They would stay for ever: a live worker's lease never ends, so nobody adopts from it. Run with each beat. An id counts as lost
    when two looks in a row found it unknown, because at a single look its claim may just be on its way here.
    """

    def __init__(
        self,
        queue: Queue,
        connection: Connection,
        worker_id: Callable[[], str],
        knows: Callable[[str], bool],
        on_found: Callable[[Found, str, int], None],
    ) -> None:
        self._queue = queue
        self._connection = connection
        self._worker_id = worker_id
        self._knows = knows
        #: This worker holds these without knowing of them, from before that Redis time.
        self._on_found = on_found
        self._suspects: Set[str] = set()

    async def look(self, now_us: int) -> None:
        """``now_us`` is the beat's own time."""
        worker_id = self._worker_id()
        held = await self._queue.held_ids(self._connection, worker_id)
        unknown = [id for id in held if not self._knows(id)]
        lost = [id for id in unknown if id in self._suspects]
        self._suspects = set(unknown)
        if not lost or worker_id != self._worker_id():
            return
        texts = await self._queue.held_texts(self._connection, worker_id, lost)
        if worker_id != self._worker_id():
            return
        found = [(id, text) for id, text in zip(lost, texts) if text is not None and not self._knows(id)]
        if found:
            self._on_found(found, worker_id, now_us)
