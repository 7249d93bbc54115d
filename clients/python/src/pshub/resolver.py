"""From a called name to the queue that serves it."""

from __future__ import annotations

import asyncio
from typing import Any, Dict, List, NamedTuple, Optional, Set

from .answers import ReplyError, is_refusal
from .clock import Stop, now_s, settle, sleep
from .connection import Connection
from .errors import HubError, NoSuchTask, NotEnqueued, NoWorkers, explained, message_of
from .events import Events
from .keys import Keys, is_queue_name
from .names import CalledName, near_names, newest_first, parse_called_name, try_parse_task_name
from .registry import Catalogue, Providers, TaskCard
from .rights import missing_rights
from .schema import Validate, compile_foreign


class Route(NamedTuple):
    task: str
    queue: str
    timeout_s: float
    idempotent: bool
    max_payload_bytes: float
    max_backlog: float
    #: Of all live workers that provide it.
    slots: int
    check_args: Optional[Validate]


class _Cached(NamedTuple):
    route: Route
    checked_at: float


class _Miss(NamedTuple):
    error: HubError
    at: float


#: A route is used without asking again for this long, and a little longer while a fresh one is under way.
_FRESH_S = 1.0
_STALE_S = 2.0
#: Unknown names are looked up at most this often.
_MISS_S = 0.1
_RETRY_S = 0.01
_MAX_ROUTES = 10_000


class Resolver:
    """What is known is answered at once and renewed behind the call; the registry is only waited for when a name is new."""

    def __init__(self, connection: Connection, keys: Keys, events: Events, closing: Stop) -> None:
        self._connection = connection
        self._keys = keys
        self._events = events
        self._closing = closing
        self._catalogue = Catalogue(keys)
        self._providers = Providers(self._catalogue)
        self._routes: Dict[str, _Cached] = {}
        self._misses: Dict[str, _Miss] = {}
        self._under_way: Dict[str, "asyncio.Task[Route]"] = {}
        self._compiled: Dict[str, Any] = {}
        #: Queues where this user has all rights that a caller needs.
        self._allowed: Set[str] = set()

    def known(self, called: str) -> Optional[Route]:
        """The route when it may be used at once. From any thread."""
        cached = self._routes.get(called)
        return cached.route if cached and now_s() - cached.checked_at <= _STALE_S else None

    def refresh(self, called: str) -> None:
        """Looks again behind a call, when the last look was a while ago."""
        cached = self._routes.get(called)
        if cached and now_s() - cached.checked_at > _FRESH_S and called not in self._under_way:
            self._look_up(called)

    async def find(self, called: str, deadline: float) -> Route:
        """
        Asks until there is an answer or the deadline has come. Raises NoSuchTask, NoWorkers, or NotEnqueued when Redis could not
        be asked; while Redis is away an old route is better than none.
        """
        setback = "no answer in time"
        loop = asyncio.get_running_loop()
        patience = Stop()
        timer = loop.call_later(max(0.0, deadline - now_s()), patience.set)
        key = self._closing.add(patience.set)
        try:
            while not patience.is_set:
                await self._connection.when_ready(patience)
                if patience.is_set:
                    break
                miss = self._misses.get(called)
                if miss and now_s() - miss.at < _MISS_S:
                    raise miss.error
                lookup = self._under_way.get(called) or self._look_up(called)
                over: "asyncio.Future[None]" = loop.create_future()
                lookup.add_done_callback(lambda _, over=over: settle(over))
                stop_key = patience.add(lambda over=over: settle(over))
                await over
                patience.remove(stop_key)
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
            timer.cancel()
            self._closing.remove(key)
        cached = self._routes.get(called)
        if cached and not self._closing.is_set:
            return cached.route
        raise _unasked(called, self._connection.down_reason or setback)

    def _look_up(self, called: str) -> "asyncio.Task[Route]":
        task = asyncio.get_running_loop().create_task(self._looked_up(called))
        self._under_way[called] = task

        def done(over: "asyncio.Task[Route]") -> None:
            self._under_way.pop(called, None)
            if not over.cancelled():
                over.exception()

        task.add_done_callback(done)
        return task

    async def _looked_up(self, called: str) -> Route:
        try:
            route = await self._find(called)
        except HubError as error:
            self._routes.pop(called, None)
            if len(self._misses) >= _MAX_ROUTES:
                self._misses.clear()
            self._misses[called] = _Miss(error, now_s())
            raise
        if len(self._routes) >= _MAX_ROUTES:
            self._routes.clear()
        self._routes[called] = _Cached(route, now_s())
        self._misses.pop(called, None)
        return route

    async def _find(self, called: str) -> Route:
        wanted = parse_called_name(called)
        if wanted is None:
            raise NoSuchTask(f"{called[:120]!r} is not a task name. Write name:1.0, name:1 or name.")
        exact = wanted.minor is not None
        names = [called] if exact else await self._versions_of(wanted)
        cards = {card.task: card for card in await self._catalogue.task_cards(self._connection, names)}
        if not cards:
            raise await self._no_such_task(called, wanted.name)
        for name in names:
            card = cards.get(name)
            if card is None or not is_queue_name(card.queue):
                continue
            leases = self._keys.queue(card.queue).leases
            slots = await self._providers.slots(self._connection, leases, name)
            await self._check_rights(card)
            if slots > 0:
                return self._route_of(card, slots)
        queues = ", ".join(sorted({card.queue for card in cards.values()}))
        raise NoWorkers(
            f"No live worker provides {called if exact else ', '.join(names)}. "
            f"Start one: pshub-worker <module> --queue {queues}",
            task=called,
        )

    async def _versions_of(self, wanted: CalledName) -> List[str]:
        """Declared versions within what the caller allows, newest first."""
        parsed = map(try_parse_task_name, await self._catalogue.task_names(self._connection))
        fitting = [n for n in parsed if n and n.name == wanted.name and wanted.major in (None, n.major)]
        return [name.full for name in sorted(fitting, key=newest_first)]

    async def _no_such_task(self, called: str, name: str) -> HubError:
        known = await self._catalogue.task_names(self._connection)
        versions = sorted(full for full in known if full.startswith(f"{name}:"))
        if versions:
            return NoSuchTask(f"There is no {called}. Known versions: {', '.join(versions)}.", task=called)
        near = near_names(called, known)
        if near:
            hint = f"Did you mean {' or '.join(near)}?"
        elif known:
            hint = "See 'pshub tasks' for those that are."
        else:
            hint = "No worker has declared any task in this namespace yet."
        return NoSuchTask(f"No worker ever declared {called}. {hint}", task=called)

    async def _check_rights(self, card: TaskCard) -> None:
        """
        Once per queue: what this user may not do there. Else one who may push, but not read its replies, would have everything
        run and hear only of timeouts.
        """
        if card.queue in self._allowed:
            return
        try:
            missing = await missing_rights(self._connection, "hub", self._keys, card.queue)
        except ReplyError as error:
            # A server that cannot tell refuses in time what it refuses.
            if not is_refusal(error):
                raise
            missing = None
        if missing:
            message = f"The Redis user may not call tasks of queue {card.queue}: it lacks {missing}. See 'pshub check --for hub'"
            raise NotEnqueued(f"{message}.", task=card.task)
        self._allowed.add(card.queue)

    def _route_of(self, card: TaskCard, slots: int) -> Route:
        return Route(
            card.task,
            card.queue,
            card.timeout_ms / 1000,
            card.idempotent,
            card.max_payload_bytes,
            card.max_backlog,
            slots,
            self._check_of(card),
        )

    def _check_of(self, card: TaskCard) -> Optional[Validate]:
        """Compiles a card's schema once per text. What cannot be used is told once; the worker's verdict counts then."""
        if card.args is None:
            return None
        known = self._compiled.get(card.task)
        if known and known[0] == card.args:
            check: Optional[Validate] = known[1]
            return check
        check = None
        try:
            check = compile_foreign(card.args)
        except Exception as error:
            self._events.emit("schema:unused", task=card.task, reason=message_of(error))
        if len(self._compiled) >= _MAX_ROUTES:
            self._compiled.clear()
        self._compiled[card.task] = (card.args, check)
        return check


def _unasked(called: str, reason: str) -> HubError:
    return NotEnqueued(f"Redis could not be asked where {called} runs: {explained(reason)}.", task=called)
