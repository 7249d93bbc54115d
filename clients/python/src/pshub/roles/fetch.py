"""Takes work for idle slots and for nothing else: with no slot idle it does not touch Redis."""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, List, Optional

from ..answers import ReplyError
from ..clock import RedisClock, Stop, backoff_s, now_s, sleep
from ..connection import Connection, Word
from ..queue import Claimed, Queue
from ..slots import Slots

#: An answer that is older, because this process was stopped or got no turn, is only used after a look at the lease.
_STALE_US = 100_000


class FetchLoop:
    """
    One claim is under way at a time. While the last one left work in the list, the next is sent at once, on the commands
    connection: releases are ahead of it there, so the worker never holds more than it has slots. Else it waits for the bell on its
    own connection, for as many slots as are known to be released. While the queue is paused it takes nothing; the claim behind a
    wait that is ended then still runs, because it is in Redis.
    """

    def __init__(
        self,
        queue: Queue,
        waiting: Connection,
        commands: Connection,
        slots: Slots,
        clock: RedisClock,
        worker_id: Callable[[], str],
        run_times: Callable[[], List[Word]],
        age_s: Callable[[Claimed], Awaitable[float]],
        on_claimed: Callable[[Claimed, str, float], None],
        on_no_lease: Callable[[], Awaitable[Any]],
        on_problem: Callable[[Exception], None],
    ) -> None:
        self._queue = queue
        self._waiting = waiting
        self._commands = commands
        self._slots = slots
        self._clock = clock
        self._worker_id = worker_id
        self._run_times = run_times
        #: How long ago, on Redis' clock, a claim was made; also finds out whether the lease is still held.
        self._age_s = age_s
        self._on_claimed = on_claimed
        self._on_no_lease = on_no_lease
        self._on_problem = on_problem
        self._stopping = Stop()
        self._under_way: Optional["asyncio.Task[None]"] = None
        self._is_scheduled = False
        self._more_waits = True
        self._is_paused = False

    def start(self) -> None:
        self._next()

    def slots_idle(self) -> None:
        """Slots became idle; called in the turn of the loop in which their releases were sent."""
        # After a claim the next one is scheduled anyway; only while work waits it pays to send it in one write with these.
        if not self._is_scheduled or self._more_waits:
            self._next()

    def pause(self) -> None:
        """
        Takes nothing more until ``resume``. To be said with each beat of the pause: what ends a wait may overtake that wait, which
        is sent on another connection.
        """
        self._is_paused = True
        client_id = self._waiting.client_id
        if self._under_way is not None and client_id is not None:
            self._queue.end_wait(self._commands, client_id)

    def resume(self) -> None:
        self._is_paused = False
        # The bell's token may be gone, and what it announced still waits.
        self._more_waits = True
        self._next()

    def stop(self) -> None:
        """No claim is started any more. One that waits for the bell is left to whoever closes its connection."""
        self._stopping.set()

    async def settled(self) -> None:
        if self._under_way is not None:
            await asyncio.wait({self._under_way})

    @property
    def _is_halted(self) -> bool:
        return self._is_paused or self._stopping.is_set

    def _next(self) -> None:
        if self._under_way is not None or self._is_halted:
            return
        idle, released = self._slots.idle, self._slots.released
        if idle <= 0:
            return
        at_once = self._more_waits or released <= 0
        count = idle if at_once else released
        connection = self._commands if at_once else self._waiting
        worker_id = self._worker_id()
        posted = None
        if connection.is_ready:
            # Here and now, so that it goes in one write with the releases ahead of it.
            posted = self._queue.post_claim(connection, worker_id, count, self._run_times(), not at_once)
        self._under_way = asyncio.get_running_loop().create_task(self._claim(count, at_once, worker_id, posted))
        self._under_way.add_done_callback(self._ended)

    def _ended(self, _: Any) -> None:
        self._under_way = None
        self._is_scheduled = True
        # Behind the replies of what finishes at once: writing the next wait first would hold them up.
        asyncio.get_running_loop().call_soon(self._again)

    def _again(self) -> None:
        self._is_scheduled = False
        self._next()

    async def _claim(self, count: int, at_once: bool, worker_id: str, posted: Any) -> None:
        failures = 0
        while not self._stopping.is_set:
            connection = self._commands if at_once else self._waiting
            try:
                if posted is None:
                    await connection.when_ready(self._stopping)
                    if self._is_halted:
                        return
                    worker_id = self._worker_id()
                    posted = self._queue.post_claim(connection, worker_id, count, self._run_times(), not at_once)
                claimed = await self._queue.claimed(connection, posted)
                posted = None
                if claimed is None:
                    await self._on_no_lease()
                    # The bell's token is taken, and what it announced still waits.
                    at_once = True
                    # A beat that failed, on a full disk for one, must not make this a busy loop.
                    await sleep(0 if failures == 0 else backoff_s(failures, 0.05, 1.0), self._stopping)
                    failures += 1
                    continue
                self._more_waits = claimed.left > 0
                now_us = self._clock.at_us(now_s())
                # Deadlines went on meanwhile, and so did the lease: what this brought may be somebody else's by now.
                is_stale = bool(claimed.requests) and (now_us == 0 or now_us - claimed.now_us > _STALE_US)
                age = await self._age_s(claimed) if is_stale else 0.0
                self._on_claimed(claimed, worker_id, age)
                return
            except Exception as error:
                posted = None
                # The answer may be lost with the claim made: what it took is found by reconcile.
                if isinstance(error, ReplyError) and not self._stopping.is_set:
                    self._on_problem(error)
                await sleep(backoff_s(failures, 0.02, 1.0), self._stopping)
                failures += 1
