"""Replies, then releases."""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, Dict, List, NamedTuple, Optional, Set

from ..answers import ConnectionLost, NotConnected, first, is_full, is_passing
from ..clock import Stop, backoff_s, sleep
from ..connection import Connection
from ..queue import Queue


class Settlement(NamedTuple):
    """A request that ended in this worker."""

    #: Its id in the held hash; empty for one that is not held.
    id: str
    #: The worker id it was claimed under.
    worker_id: str
    #: None when nobody waits for a reply.
    hub_id: Optional[str]
    reply: str
    #: True when it ran in a slot of this worker, which is idle now.
    slot: bool


_MAX_BATCH = 256


class Settle:
    """
    What ended in one turn of the loop goes in one write: one push per hub, then one removal from the held hash. In that order,
    because a crash in between repeats a reply, which the hub recognises, instead of losing one.
    """

    def __init__(
        self,
        queue: Queue,
        connection: Connection,
        worker_id: Callable[[], str],
        is_lease_certain: Callable[[], bool],
        renew_lease: Callable[[], Awaitable[Any]],
        on_slots_idle: Callable[[List[str]], None],
        on_released: Callable[[List[str]], None],
        on_problem: Callable[[Exception], None],
    ) -> None:
        self._queue = queue
        self._connection = connection
        self._worker_id = worker_id
        #: False when the lease may have ended since it was renewed last: others may answer for what we hold.
        self._is_lease_certain = is_lease_certain
        self._renew_lease = renew_lease
        #: In the turn in which their releases were sent.
        self._on_slots_idle = on_slots_idle
        self._on_released = on_released
        self._on_problem = on_problem
        self._stopping = Stop()
        self._batch: List[Settlement] = []
        self._under_way: Set["asyncio.Task[None]"] = set()

    def add(self, settlement: Settlement) -> None:
        self._batch.append(settlement)
        if len(self._batch) == 1:
            asyncio.get_running_loop().call_soon(self._flush)

    async def drained(self) -> None:
        """Returns when everything added so far is confirmed, refused for good, or left to stop()."""
        self._flush()
        while self._under_way:
            await asyncio.wait(set(self._under_way))

    def stop(self) -> None:
        """Ends the retries of what could not be sent."""
        self._stopping.set()

    def _flush(self) -> None:
        batch, self._batch = self._batch, []
        if not batch:
            return
        loop = asyncio.get_running_loop()
        for at in range(0, len(batch), _MAX_BATCH):
            part = batch[at : at + _MAX_BATCH]
            # Sent here and now where it can be, so that the next claim goes in the same write, behind it.
            sent = self._post(part) if self._is_lease_certain() else None
            task = loop.create_task(self._deliver(part, sent))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        self._on_slots_idle([each.id for each in batch if each.slot])

    async def _deliver(self, batch: List[Settlement], sent: Optional["_Sent"]) -> None:
        attempt = 0
        while True:
            try:
                if sent is None:
                    if not self._is_lease_certain():
                        await self._renew_lease()
                    sent = self._post(batch)
                return await self._confirmed(sent)
            except Exception as error:
                if not _may_pass(error):
                    return self._on_problem(error)
            sent = None
            await sleep(backoff_s(attempt, 0.02, 1.0), self._stopping)
            attempt += 1
            await self._connection.when_ready(self._stopping)
            if self._stopping.is_set:
                return

    def _post(self, batch: List[Settlement]) -> "_Sent":
        worker_id = self._worker_id()
        # Claimed under an identity that was lost: somebody else answers for it by now.
        mine = [each for each in batch if each.worker_id == worker_id]
        by_hub: Dict[str, List[bytes]] = {}
        for each in mine:
            if each.hub_id is not None:
                by_hub.setdefault(each.hub_id, []).append(each.reply.encode())
        replies = [self._queue.reply(self._connection, hub_id, texts) for hub_id, texts in by_hub.items()]
        ids = [each.id for each in mine if each.id]
        release = self._queue.release(self._connection, worker_id, ids) if ids else None
        return _Sent(ids, replies, release)

    async def _confirmed(self, sent: "_Sent") -> None:
        refused: Optional[Exception] = None
        for reply in sent.replies:
            try:
                await reply
            except Exception as error:
                # One hub's spoilt reply list must not keep the others' replies back.
                if _may_pass(error):
                    refused = error
                else:
                    self._on_problem(error)
        if sent.release is not None:
            first(await sent.release)
        if refused is not None:
            raise refused
        self._on_released(sent.ids)


class _Sent(NamedTuple):
    ids: List[str]
    replies: List["asyncio.Future[Any]"]
    release: Optional["asyncio.Future[List[Any]]"]


def _may_pass(error: Exception) -> bool:
    """A full disk, which refuses releases too, is repaired in the end: given up, a request would be held for ever."""
    return isinstance(error, (ConnectionLost, NotConnected)) or is_passing(error) or is_full(error)
