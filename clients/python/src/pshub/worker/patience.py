"""What must be done in Redis in the end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ..redis.connection import Connection
from ..redis.refusals import ConnectionLost, NotConnected, is_full, is_passing
from ..wire.clock import Stop, backoff_s, sleep


def may_pass(error: Exception) -> bool:
    """A full disk, which refuses releases too, is repaired in the end: given up, a request would be held for ever."""
    return isinstance(error, (ConnectionLost, NotConnected)) or is_passing(error) or is_full(error)


class Patience:
    """Tries again, and waits between two tries: longer each time, and until there is a connection."""

    def __init__(self, connection: Connection, on_problem: Callable[[Exception], None]) -> None:
        self._connection = connection
        self._on_problem = on_problem
        self._stopping = Stop()

    @property
    def is_over(self) -> bool:
        return self._stopping.is_set

    def stop(self) -> None:
        """Ends all tries; what was not done stays as it is."""
        self._stopping.set()

    async def until_done(
        self,
        act: Callable[[], Awaitable[Any]],
        is_worth_it: Callable[[Exception], bool] = lambda error: True,
        under_way: Awaitable[Any] | None = None,
    ) -> bool:
        """
        Tries until Redis has done it, or refuses it in a way that is not worth another try, or this ends. Returns whether it was done.

        :param act: tries it; returns at once where that is no matter of this worker any more
        :param under_way: the first try, where that is sent already
        """
        attempt = 0
        while True:
            try:
                await (act() if under_way is None else under_way)
                return True
            except Exception as error:
                if not may_pass(error):
                    self._on_problem(error)
                if not is_worth_it(error):
                    return False
            under_way = None
            await sleep(backoff_s(attempt, 0.02, 1.0), self._stopping)
            attempt += 1
            await self._connection.when_ready(self._stopping)
            if self._stopping.is_set:
                return False
