"""The registry: three hashes of JSON cards. What is read was written by others and may be anything. PROTOCOL.md, section 11."""

from __future__ import annotations

import json
from typing import Any, AsyncIterator, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .answers import first
from .connection import Connection
from .errors import compact
from .keys import Keys

#: Cards are rewritten this often, and go when none of their workers did so for a day.
REPUBLISH_MS = 10 * 60_000
_FORGET_TASK_S = 24 * 3600
_FORGET_WORKER_MS = 3600_000
#: Statistics read at a time: nearly always the first worker looked at takes calls.
_STATS_PAGE = 8
_MAX_CARDS = 10_000


class TaskCard(NamedTuple):
    task: str
    queue: str
    timeout_ms: float
    idempotent: bool
    #: The schema's JSON, or None.
    args: Optional[str]
    max_payload_bytes: float
    max_backlog: float


def _object(text: Any) -> Optional[Dict[str, Any]]:
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _positive(value: Any, fallback: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return fallback
    return number if number > 0 else fallback


def parse_task_card(text: Any) -> Optional[TaskCard]:
    card = _object(text)
    if card is None or not isinstance(card.get("task"), str) or not isinstance(card.get("queue"), str):
        return None
    limits = (_positive(card.get(name), float("inf")) for name in ("maxPayloadBytes", "maxBacklog"))
    args = card.get("args")
    return TaskCard(
        card["task"],
        card["queue"],
        _positive(card.get("timeoutMs"), 5000),
        card.get("idempotent") is True,
        None if args is None else compact(args),
        *limits,
    )


class WorkerCard(NamedTuple):
    id: str
    slots: int
    #: name:version -> digest
    tasks: Dict[str, Any]
    who: str


def parse_worker_card(text: Any) -> Optional[WorkerCard]:
    card = _object(text)
    if card is None or not isinstance(card.get("id"), str) or not isinstance(card.get("queue"), str):
        return None
    tasks = card.get("tasks")
    who = f"{card.get('host', '')}/{card.get('pid', '')}"
    return WorkerCard(card["id"], int(min(_positive(card.get("slots"), 0), 1e6)), tasks if isinstance(tasks, dict) else {}, who)


class Catalogue:
    def __init__(self, keys: Keys) -> None:
        self.keys = keys

    async def task_names(self, connection: Connection) -> List[str]:
        return [name.decode("utf-8", "replace") for name in await connection.one("HKEYS", self.keys.tasks)]

    async def task_cards(self, connection: Connection, names: Sequence[str]) -> List[TaskCard]:
        """Those that are missing or malformed are left out."""
        if not names:
            return []
        texts = await connection.one("HMGET", self.keys.tasks, *names)
        return [card for card in map(parse_task_card, texts) if card]

    async def live_ids(self, connection: Connection, leases: str) -> List[str]:
        """Ids of workers whose lease has not ended, on Redis' clock."""
        seconds, micros = await connection.one("TIME")
        now_ms = int(seconds) * 1000 + int(micros) // 1000
        return [id.decode("utf-8", "replace") for id in await connection.one("ZRANGEBYSCORE", leases, now_ms, "+inf")]

    async def worker_cards(self, connection: Connection, ids: Sequence[str]) -> List[WorkerCard]:
        if not ids:
            return []
        texts = await connection.one("HMGET", self.keys.workers, *ids)
        return [card for card in map(parse_worker_card, texts) if card]

    async def draining(self, connection: Connection, ids: Sequence[str]) -> List[bool]:
        texts = await connection.one("HMGET", self.keys.stats, *ids)
        return [(_object(text) or {}).get("draining") is True for text in texts]

    async def remove_workers(self, connection: Connection, ids: Sequence[str]) -> None:
        if ids:
            keys = self.keys
            # Of the slowest calls there are those of workers in other languages, which are swept here.
            hashes = (keys.workers, keys.stats, keys.taskstats, keys.slow, keys.failures)
            first(await connection.post(*(("HDEL", key, *ids) for key in hashes)))

    async def sweep(self, connection: Connection, now_ms: int) -> None:
        """Removes cards of tasks that nobody published for a day and of workers that are long gone."""
        stale = []
        async for name, text in self._scan(connection, self.keys.tasks):
            card = _object(text) or {}
            at = card.get("at") if parse_task_card(text) else None
            if not isinstance(at, (int, float)) or now_ms / 1000 - at > _FORGET_TASK_S:
                stale.append(name)
        if stale:
            await connection.one("HDEL", self.keys.tasks, *stale)
        gone = []
        async for id, text in self._scan(connection, self.keys.stats):
            seen = (_object(text) or {}).get("seen")
            if not isinstance(seen, (int, float)) or now_ms - seen > _FORGET_WORKER_MS:
                gone.append(id.decode("utf-8", "surrogateescape"))
        await self.remove_workers(connection, gone)

    async def _scan(self, connection: Connection, key: str) -> AsyncIterator[Tuple[bytes, bytes]]:
        cursor = b"0"
        while True:
            cursor, flat = await connection.one("HSCAN", key, cursor, "COUNT", 200)
            for at in range(0, len(flat), 2):
                yield flat[at], flat[at + 1]
            if cursor == b"0":
                return


class Providers:
    """Who takes requests for a task at the moment: workers with a lease that list it on their card and do not drain."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        #: What a worker provides never changes under its id, so a card is read once.
        self._cards: Dict[str, WorkerCard] = {}

    async def slots(self, connection: Connection, leases: str, task: str) -> int:
        """Their slots together; 0 without any."""
        ids = await self._catalogue.live_ids(connection, leases)
        unread = [id for id in ids if id not in self._cards]
        if len(self._cards) > _MAX_CARDS:
            self._cards.clear()
            unread = ids
        for card in await self._catalogue.worker_cards(connection, unread):
            self._cards[card.id] = card
        providers = [self._cards[id] for id in ids if id in self._cards and task in self._cards[id].tasks]
        for at in range(0, len(providers), _STATS_PAGE):
            page = [card.id for card in providers[at : at + _STATS_PAGE]]
            # One that takes calls is enough to know: others that drain make the sum too large while they leave.
            if not all(await self._catalogue.draining(connection, page)):
                return sum(max(1, card.slots) for card in providers)
        return 0
