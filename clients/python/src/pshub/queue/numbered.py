"""Batches that are known by a number, so that to repeat one does nothing twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from ..redis.connection import Connection
from ..redis.refusals import ConnectionLost, NotConnected, is_passing
from ..wire.clock import Stop, backoff_s, now_s, sleep
from .queue import PUSH_MEMORY_MS


class Delivered(NamedTuple):
    """How a numbered batch ended."""

    #: ``answered``; ``refused``: Redis answered with an error, so none of the batch is there; ``unknown``: its answer was lost, and
    #: Redis can no longer tell whether it arrived; ``over``: nobody waits for it any more, or this process ends.
    how: str
    answer: Any = None
    error: Exception | None = None


async def deliver_numbered(
    connection: Connection,
    closing: Stop,
    prepare: Callable[[bool], Callable[[], Awaitable[Any]] | None],
    on_setback: Callable[[Exception, bool], None],
) -> Delivered:
    """
    Sends a batch under its number until its outcome is known: when an answer is lost the same is sent again, and Redis knows by the
    number whether it had arrived.

    :param prepare: what to send now, or None when nobody waits for it any more; given whether a try was lost, since when it must be
        the same batch
    :param on_setback: a try failed; given whether one of them may have arrived
    """
    first_try = now_s()
    was_lost = False
    attempt = 0
    while True:
        send = prepare(was_lost)
        if send is None or closing.is_set:
            return Delivered("over")
        # The number may be forgotten soon; repeating it after that could do it twice.
        if was_lost and now_s() - first_try > PUSH_MEMORY_MS / 2000:
            return Delivered("unknown")
        try:
            return Delivered("answered", await send())
        except Exception as error:
            was_lost = was_lost or isinstance(error, ConnectionLost)
            on_setback(error, was_lost)
            if not (isinstance(error, (NotConnected, ConnectionLost)) or is_passing(error)):
                return Delivered("unknown") if was_lost else Delivered("refused", None, error)
        await sleep(backoff_s(attempt, 0.01, 0.5), closing)
        attempt += 1
        await connection.when_ready(closing)
