"""Where tasks run, as far as it is known."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from ..redis.connection import Connection
from ..redis.refusals import ConnectionLost, NotConnected, explained, is_refusal
from ..wire.clock import Stop, call_later, ignore, now_s, sleep, start, within
from ..wire.errors import HubError, NotEnqueued
from ..wire.raised import message_of
from .resolver import Purpose, Resolver, Route


class _Cached(NamedTuple):
    route: Route
    checked_at: float


class _Miss(NamedTuple):
    error: HubError
    at: float


#: A name as it is called, wherever it runs or in one queue; and what for.
_Called = tuple[str, str | None, Purpose]

#: A route is used without asking again for this long, and a little longer while a fresh one is under way.
_FRESH_S = 1.0
_STALE_S = 2.0
#: Unknown names are looked up at most this often.
_MISS_S = 0.1
_RETRY_S = 0.01
_LOOK_AGAIN_S = 0.1
_MAX_ROUTES = 10_000


class Routes:
    """What is known is answered at once and renewed behind the call; the registry is only waited for when a name is new."""

    def __init__(self, resolver: Resolver, connection: Connection, closing: Stop) -> None:
        self._resolver = resolver
        self._connection = connection
        self._closing = closing
        self._routes: dict[_Called, _Cached] = {}
        self._misses: dict[_Called, _Miss] = {}
        self._under_way: dict[_Called, asyncio.Task[Route]] = {}

    def known(self, called: str, queue: str | None, purpose: Purpose = "hub") -> Route | None:
        """The route when it may be used at once. From any thread."""
        cached = self._routes.get((called, queue, purpose))
        return cached.route if cached and now_s() - cached.checked_at <= _STALE_S else None

    def refresh(self, called: str, queue: str | None) -> None:
        """Looks again behind a call, when the last look was a while ago."""
        key: _Called = (called, queue, "hub")
        cached = self._routes.get(key)
        if cached and now_s() - cached.checked_at > _FRESH_S and key not in self._under_way:
            self._look_up(key)

    async def find(self, called: str, queue: str | None, deadline: float, purpose: Purpose = "hub", latest: float = 0.0) -> Route:
        """
        Asks until there is an answer or the deadline has come. Raises NoSuchTask, NoWorkers, or NotEnqueued when Redis could not
        be asked; while Redis is away an old route is better than none.

        :param latest: the deadline while nothing says that Redis is away: then it, or this process, is slow. A connection that stays
            silent is given up, and says so.
        """
        key = (called, queue, purpose)
        setback: str | None = None
        patience = Stop()
        timers: list[asyncio.TimerHandle] = []

        def expire() -> None:
            left = latest - now_s()
            if left > 0 and setback is None and key not in self._routes and self._connection.down_reason is None:
                timers[:] = [call_later(min(left, _LOOK_AGAIN_S), expire)]
            else:
                patience.set()

        timers.append(call_later(max(0.0, deadline - now_s()), expire))
        closing_key = self._closing.add(patience.set)
        try:
            while not patience.is_set:
                await self._connection.when_ready(patience)
                if patience.is_set:
                    break
                miss = self._misses.get(key)
                if miss and now_s() - miss.at < _MISS_S:
                    raise miss.error
                lookup = self._under_way.get(key) or self._look_up(key)
                await within(lookup, None, patience)
                if not lookup.done():
                    break
                error = lookup.exception()
                if error is None:
                    return lookup.result()
                if isinstance(error, HubError):
                    raise error
                setback = message_of(error)
                if is_refusal(error):
                    raise _unasked(called, setback)
                await sleep(_RETRY_S, patience)
        finally:
            timers[-1].cancel()
            self._closing.remove(closing_key)
        cached = self._routes.get(key)
        if cached and not self._closing.is_set:
            return cached.route
        # Of several nodes the one that is away need not be the one that was asked last.
        told = setback if self._connection.is_spread else None
        raise _unasked(called, told or self._connection.down_reason or setback or "no answer in time")

    def _look_up(self, key: _Called) -> asyncio.Task[Route]:
        task = start(self._looked_up(key))
        self._under_way[key] = task
        task.add_done_callback(lambda _: self._under_way.pop(key, None))
        ignore(task)
        return task

    async def _looked_up(self, key: _Called) -> Route:
        try:
            route = await self._resolver.resolve(*key)
        except HubError as error:
            self._routes.pop(key, None)
            if len(self._misses) >= _MAX_ROUTES:
                self._misses.clear()
            self._misses[key] = _Miss(error, now_s())
            raise
        except (NotConnected, ConnectionLost):
            # The registry is at another server than the queue: that goes on being served as it was.
            if self._connection.is_spread and key in self._routes:
                self._routes[key] = self._routes[key]._replace(checked_at=now_s())
            raise
        if len(self._routes) >= _MAX_ROUTES:
            self._routes.clear()
        self._routes[key] = _Cached(route, now_s())
        self._misses.pop(key, None)
        return route


def _unasked(called: str, reason: str) -> HubError:
    return NotEnqueued(f"The hub could not look up {called} in Redis: {explained(reason)}.", task=called)
