"""From a called name to the queue that serves it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..catalogue.cards import TaskCard, TaskField, further_field
from ..catalogue.catalogue import Catalogue, unreadable_teller
from ..figures.events import Events
from ..queue.shards import open_shards, places_of
from ..redis.connection import Connection
from ..redis.refusals import ConnectionLost, NotConnected, ReplyError, is_refusal
from ..redis.rights_check import missing_rights
from ..task.schema import Validate, compile_foreign
from ..task.task import DEFAULT_TIMEOUT_S
from ..wire.clock import now_s
from ..wire.errors import HubError, NoSuchTask, NotEnqueued, NoWorkers
from ..wire.keys import Keys, is_queue_name
from ..wire.names import CalledName, near_names, newest_first, parse_called_name, try_parse_task_name
from ..wire.raised import message_of
from .placement import Placement, Spread

#: What a route is for: ``hub``: calls; ``jobs``: jobs as well.
Purpose = str


class Route(NamedTuple):
    """Where a called name leads at the moment."""

    task: str
    queue: str
    timeout_s: float
    idempotent: bool
    #: How its jobs with the same key are run; None: they have no keys.
    keyed: str | None
    max_payload_bytes: float
    max_backlog: float
    #: Of all live workers that provide it.
    slots: int
    check_args: Validate | None
    #: Of merged jobs: ``first``, where the first score of equal payloads counts; None: the last one.
    scores: str | None = None
    #: How its queue is spread over shards; None: it is not.
    spread: Spread | None = None


#: More of what is kept here is forgotten.
_MAX_KEPT = 10_000
#: Cards of one name, of all versions and queues, that are read at most.
_MAX_CARDS_OF_NAME = 1000
#: Two beats: until then the workers of a task have registered again, where Redis came back without its data.
_REGISTER_S = 2.0
#: A queue that was made known is forgotten after a day, when nothing waits there.
_ANNOUNCE_S = 3600


class Resolver:
    """Reads are bounded by what is called: the cards of that name, and the live workers of its queues."""

    def __init__(self, connection: Connection, keys: Keys, events: Events, placement: Placement) -> None:
        self.placement = placement
        self._connection = connection
        self._keys = keys
        self._events = events
        self._catalogue = Catalogue(keys, unreadable_teller(events))
        self._compiled: dict[str, Any] = {}
        #: Purposes and queues for which this user has all rights that it needs.
        self._allowed: set[tuple[Purpose, str]] = set()
        #: Where tasks were found that no worker of their first queue provides.
        self._elsewhere: dict[str, list[str]] = {}
        #: Queues that were made known, and when.
        self._announced_at: dict[str, float] = {}
        #: Tasks that were found, and since when they are missing.
        self._missing_since: dict[str, float | None] = {}

    async def resolve(self, called: str, queue: str | None, purpose: Purpose = "hub") -> Route:
        """
        Looks a name up, in all queues or in one. Of several queues with live workers the one counts that had the task first, then
        the first by name. A job goes to a queue without any, too: to the one that had the task first, or to the one that is named.
        Raises NoSuchTask, NoWorkers, NotEnqueued for a task that has just gone missing, or the connection's error.
        """
        wanted = parse_called_name(called)
        if wanted is None:
            raise NoSuchTask(f"'{called[:120]}' is not a task name. Write name:1.0, name:1 or name.")
        if purpose == "forward":
            # It leaves the hub: nobody here need know its task.
            return await self._unseen(called, str(queue))
        is_exact = wanted.minor is not None
        if is_exact:
            # Nearly always the task has one card, and this is all that is read of cards.
            further = self._elsewhere.get(called, []) if queue is None else [further_field(called, queue)]
            cards = await self._cards([called, *further])
            try:
                route = await self._live_of(cards, queue, purpose)
            except (NotConnected, ConnectionLost):
                # The server of its first queue is away; there may be others.
                if queue is not None:
                    raise
                route = None
            if route is not None:
                return route
        known = await self._catalogue.task_fields(self._connection)
        fields = _fields_of(wanted, known)
        cards = await self._cards(fields[:_MAX_CARDS_OF_NAME])
        route = await self._live_of(cards, queue, purpose)
        if not cards:
            self._check_missing(called, wanted, known)
        if route is None and purpose == "jobs":
            return await self._resting_place(called, wanted, cards, queue, known)
        if route is None:
            raise (await self._no_workers(called, cards, queue)) if cards else _no_such_task(called, wanted.name, known)
        if is_exact:
            _bound(self._elsewhere)
            self._elsewhere[called] = [field for field in fields if field != called]
        return route

    async def places(self, queue: str | None) -> Sequence[str]:
        """A queue and its shards; of none all queues that tasks are known in, or jobs were put into, by name."""
        if queue is not None:
            return await places_of(self._connection, self._keys, queue)
        fields = [field for field, _, _ in await self._catalogue.task_fields(self._connection)]
        cards = await self._cards(fields)
        names = [*(card.queue for card in cards), *await self._named_queues()]
        return [queue for queue in dict.fromkeys(names) if is_queue_name(queue)]

    async def _resting_place(
        self, called: str, wanted: CalledName, cards: Sequence[TaskCard], queue: str | None, known: Sequence[TaskField]
    ) -> Route:
        """Where jobs of a task wait that nobody serves at the moment."""
        for card in cards:
            if is_queue_name(card.queue) and queue in (None, card.queue):
                await self._check_rights(card.task, card.queue, "jobs")
                return await self._spread(self._route_of(card, 0))
        if queue is None:
            error = _no_such_task(called, wanted.name, known)
            raise NoSuchTask(f"{error.message} To let the job wait for a worker, pass the queue.", task=called)
        if wanted.minor is None:
            message = f"Queue {queue} has no {called} yet: write the version in full, {wanted.name}:1.0."
            raise NoSuchTask(message, task=called)
        return await self._unseen(called, queue)

    async def _unseen(self, called: str, queue: str) -> Route:
        """Of a task that has no card: nothing of it is checked here."""
        await self._check_rights(called, queue, "jobs")
        await self._announce(queue)
        return await self._spread(Route(called, queue, DEFAULT_TIMEOUT_S, False, None, math.inf, math.inf, 0, None))

    async def _announce(self, queue: str) -> None:
        """So that workers of all queues find it: no card tells of it yet. A user without that right enqueues all the same."""
        now = now_s()
        if now < self._announced_at.get(queue, -math.inf) + _ANNOUNCE_S:
            return
        try:
            now_ms = await self._connection.at(self._keys.queues).now_ms()
            await self._connection.one("ZADD", self._keys.queues, now_ms, queue)
        except ReplyError:
            return
        _bound(self._announced_at)
        self._announced_at[queue] = now

    async def _named_queues(self) -> list[str]:
        try:
            names = await self._connection.one("ZRANGE", self._keys.queues, -_MAX_CARDS_OF_NAME, -1)
        except ReplyError:
            return []
        return [name.decode("utf-8", "replace") for name in names]

    async def _cards(self, fields: Sequence[str]) -> list[TaskCard]:
        cards = await self._catalogue.task_cards(self._connection, fields)
        _bound(self._missing_since)
        self._missing_since.update({card.task: None for card in cards})
        return cards

    def _check_missing(self, called: str, wanted: CalledName, known: Sequence[TaskField]) -> None:
        """A task that this hub has found before is not unknown at once: its workers may not have registered again yet."""
        now, there = now_s(), {task for _, task, _ in known}
        found = _fields_of(wanted, [TaskField(task, task, None) for task in self._missing_since if task not in there])
        for task in found:
            self._missing_since[task] = self._missing_since[task] or now
        if any(now - (self._missing_since[task] or now) < _REGISTER_S for task in found):
            why = f"The registry has lost {called}; Redis may have restarted without its data."
            raise NotEnqueued(f"{why} Try again: workers register again within {_REGISTER_S:g} s.", task=called)

    async def _live_of(self, cards: Sequence[TaskCard], queue: str | None, purpose: Purpose) -> Route | None:
        """The first of these that a live worker provides. A queue that this user may not use only counts where there is no other."""
        refused: Exception | None = None
        for card in cards:
            if not is_queue_name(card.queue) or queue not in (None, card.queue):
                continue
            try:
                slots = await self._catalogue.slots(self._connection, card.queue, card.task)
                if slots > 0:
                    await self._check_rights(card.task, card.queue, purpose)
                    return await self._spread(self._route_of(card, slots))
            except Exception as error:
                # Where only its own server is away, other queues are at others.
                is_away = isinstance(error, (NotConnected, ConnectionLost))
                if not isinstance(error, HubError) and not is_away and not is_refusal(error):
                    raise
                refused = refused or error
        if refused is not None:
            raise refused
        return None

    async def _spread(self, route: Route) -> Route:
        """With what is known of shards of its queue; one whose node is away is none that is live."""
        shards = await self.placement.shards_of(route.queue)
        if shards is None:
            return route

        async def slots_of(name: str) -> int:
            if name == route.queue:
                return route.slots
            try:
                return await self._catalogue.slots(self._connection, name, route.task)
            except (NotConnected, ConnectionLost, ReplyError):
                return 0

        names = open_shards(shards)
        counts = zip(names, await asyncio.gather(*map(slots_of, names)))
        return route._replace(spread=Spread(shards, {name: slots for name, slots in counts if slots > 0}))

    async def _no_workers(self, called: str, cards: Sequence[TaskCard], queue: str | None) -> HubError:
        queues = ", ".join(dict.fromkeys(card.queue for card in cards))
        if queue is None:
            names = ", ".join(dict.fromkeys(card.task for card in cards))
            start = f"Start one: pshub-worker-py <module> --queue {queues}"
            return NoWorkers(f"No live worker provides {names}. {start}", task=called)
        elsewhere = await self._live_of(cards, None, "hub")
        where = (
            f"It is served in queue {elsewhere.queue}." if elsewhere else f"No other queue has a live worker for it either; it is known in: {queues}."
        )
        return NoWorkers(f"No live worker of queue {queue} provides {called}. {where}", task=called)

    async def _check_rights(self, task: str, queue: str, purpose: Purpose) -> None:
        """
        Once per queue: what this user may not do there. Else one who may push, but not read its replies, would have everything
        run and hear only of timeouts.
        """
        if (purpose, queue) in self._allowed:
            return
        try:
            here = self._connection.at(self._keys.queue(queue).calls)
            missing = await missing_rights(here, purpose, self._keys, queue)
        except ReplyError as error:
            # A server that cannot tell refuses in time what it refuses.
            if not is_refusal(error):
                raise
            missing = None
        if missing:
            what = "call tasks of" if purpose == "hub" else "enqueue jobs in"
            message = f"The Redis user may not {what} queue {queue}: it lacks {missing}. See 'pshub check --for {purpose}'"
            raise NotEnqueued(f"{message}.", task=task)
        _bound(self._allowed)
        self._allowed.add((purpose, queue))

    def _route_of(self, card: TaskCard, slots: int) -> Route:
        check = self._check_of(card)
        timeout_s, most_bytes = card.timeout_ms / 1000, card.max_payload_bytes
        return Route(
            card.task, card.queue, timeout_s, card.idempotent, card.keyed, most_bytes, card.max_backlog, slots, check, card.scores
        )  # fmt: skip

    def _check_of(self, card: TaskCard) -> Validate | None:
        """Compiles a card's schema once per text. What cannot be used is told once; the worker's verdict counts then."""
        if card.args is None:
            return None
        known = self._compiled.get(card.task)
        if known and known[0] == card.args:
            check: Validate | None = known[1]
            return check
        check = None
        try:
            check = compile_foreign(card.args)
        except Exception as error:
            self._events.emit("schema:unused", task=card.task, reason=message_of(error))
        _bound(self._compiled)
        self._compiled[card.task] = (card.args, check)
        return check


def _bound(kept: Any) -> None:
    if len(kept) >= _MAX_KEPT:
        kept.clear()


def _fields_of(wanted: CalledName, known: Sequence[TaskField]) -> list[str]:
    """Fields of all cards that a name may mean: newest version first, in each the queue that had it first, then by name."""
    found = []
    for field, task, queue in known:
        name = try_parse_task_name(task)
        if name and name.name == wanted.name and wanted.major in (None, name.major) and wanted.minor in (None, name.minor):
            found.append((newest_first(name), queue or "", field))
    return [field for _, _, field in sorted(found)]


def _no_such_task(called: str, name: str, known: Sequence[TaskField]) -> HubError:
    tasks = list(dict.fromkeys(task for _, task, _ in known))
    if called in tasks:
        message = f"The registry has no readable card of {called}. If a worker has just started, call again."
        return NoSuchTask(f"{message} Its workers write the card when they start.", task=called)
    versions = sorted(full for full in tasks if full.startswith(f"{name}:"))
    if versions:
        return NoSuchTask(f"There is no {called}. Known versions: {', '.join(versions)}.", task=called)
    near = near_names(called, tasks)
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    elif tasks:
        hint = "'pshub tasks' lists all tasks."
    else:
        hint = "No worker has declared any task in this namespace yet."
    return NoSuchTask(f"No worker ever declared {called}. {hint}", task=called)
