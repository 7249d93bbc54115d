"""The Redis of a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from .clock import TestClock
from .memory.server import MemoryRedis

#: How far the clock is moved on at most until all have found Redis again.
_BACK_S = 5.0


class _User(Protocol):
    @property
    def connections(self) -> int: ...


class TestRedis:
    __test__ = False

    def __init__(self, redis: MemoryRedis, clock: TestClock, users: Callable[[], list[_User]]) -> None:
        self._redis = redis
        self._clock = clock
        self._users = users
        self._were_connected: list[int] = []
        #: Give it as ``redis`` to further hubs and workers of the test.
        self.target = redis.line().url

    def go_away(self) -> None:
        """Makes it unreachable: all connections break, and new ones fail. Its data stays. Returns when the hub and the worker have noticed."""
        self._were_connected = [user.connections for user in self._users()]
        self._redis.go_away()
        self._clock.quiet(patient=False)

    def come_back(self) -> None:
        """Makes it reachable again, with its data. Returns when the hub and the worker have reconnected; this advances the clock."""
        self._redis.come_back()
        end = self._clock.now_ms + _BACK_S * 1000
        while not self._is_found and self._clock.now_ms < end:
            self._clock.step(0.1)
        self._clock.quiet()

    def command(self, *words: str | int | float | bytes) -> Any:
        """
        Runs one command, like redis-cli, to read or write data. Strings are bytes.

        :raises RedisError: as Redis replies
        """
        return self._redis.command(*words)

    @property
    def _is_found(self) -> bool:
        users = self._users()
        return all(user.connections >= before for user, before in zip(users, self._were_connected))
