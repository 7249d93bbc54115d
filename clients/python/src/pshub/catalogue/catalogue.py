"""The one reader of the registry, for callers and workers. PROTOCOL.md, section 11."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..figures.events import Events
from ..redis.client import Word
from ..redis.connection import Connection
from ..redis.refusals import ConnectionLost, NotConnected, ReplyError, code_of
from ..wire.answers import texts_of
from ..wire.foreign import MAX_RECORD_LENGTH, Note, Unreadable, UnreadableRecord
from ..wire.keys import Keys
from .cards import (
    Stats,
    TaskCard,
    TaskField,
    WorkerCard,
    further_field,
    read_stats,
    read_task_card,
    read_worker_card,
    task_field_of,
)

#: Statistics read at a time: nearly always the first worker looked at takes calls.
_STATS_PAGE = 8
#: Ids of live workers that a look reads: those of more are only counted.
_LIVE_PAGE = 64
#: Fields of a hash read at a time, so that no answer is unbounded.
_PAGE = 200
#: Cards of workers that are kept; an identity is seen once and its worker may be long gone.
_MAX_CARDS = 10_000
_MAX_TOLD = 1000
#: What is longer is not even fetched; no record that can be read takes so many bytes.
_MAX_RECORD_BYTES = 4 * MAX_RECORD_LENGTH

T = TypeVar("T")
Read = Callable[[bytes, str], T]


class Catalogue:
    """What is read was written by others and may be anything: what cannot be read counts as absent and is noted."""

    def __init__(self, keys: Keys, note: Note) -> None:
        self.keys = keys
        self._note = note
        #: What a worker provides never changes under its id, so a card is read once.
        self._workers: dict[str, WorkerCard] = {}
        #: From which place on hashes are read next that are read a page at a time, round and round.
        self._places: dict[str, int] = {}

    async def task_fields(self, connection: Connection) -> list[TaskField]:
        """Where there are cards of tasks."""
        return [task_field_of(name) for name in texts_of(await self._ask(connection, [], "HKEYS", self.keys.tasks))]

    async def task_cards(self, connection: Connection, fields: Sequence[str]) -> list[TaskCard]:
        """The cards in these fields; those that are missing or cannot be read are left out."""
        return [card for card in await self._pick(connection, self.keys.tasks, fields, _task_card_in) if card]

    async def slots(self, connection: Connection, queue: str, task: str) -> int:
        """
        Slots of the workers that take requests for a task in a queue at the moment, together; 0 without any. These are the workers
        whose lease holds, that list the task on their card, and that are not draining: the one place that decides it. Of a queue of
        more workers than are looked at this is an estimate, by the share of them that provide the task.
        """
        leases = self.keys.queue(queue).leases
        now_ms = await connection.at(leases).now_ms()
        some = await self._live_ids(connection, queue, now_ms, "LIMIT", 0, _LIVE_PAGE)
        slots = await self._slots_of(connection, some, task)
        if len(some) < _LIVE_PAGE:
            return slots
        # Of a large queue some stand for all; where none of them will do one of the others may, and only that matters then.
        if slots == 0:
            return await self._slots_of(connection, await self._live_ids(connection, queue, now_ms), task)
        count: int = await self._ask(connection, 0, "ZCOUNT", leases, now_ms, "+inf")
        return round(slots * max(count, len(some)) / len(some))

    async def _slots_of(self, connection: Connection, ids: Sequence[str], task: str) -> int:
        providers = [card for card in await self._cards(connection, ids) if task in card.tasks]
        for at in range(0, len(providers), _STATS_PAGE):
            # One that takes calls is enough to know: others that drain make the sum too large while they leave.
            if await self._serving(connection, providers[at : at + _STATS_PAGE]):
                return sum(max(1, card.slots) for card in providers)
        return 0

    async def providers(self, connection: Connection, queue: str) -> list[WorkerCard]:
        """The workers that take requests in a queue at the moment."""
        now_ms = await connection.at(self.keys.queue(queue).leases).now_ms()
        ids = await self._live_ids(connection, queue, now_ms)
        return await self._serving(connection, await self._cards(connection, ids))

    async def some_tasks(self, connection: Connection) -> list[tuple[str, TaskCard]]:
        """The next page of the cards of tasks, with their fields."""
        return (await self._some(connection, self.keys.tasks, _task_card_in))[1]

    async def some_stats(self, connection: Connection) -> tuple[int, list[tuple[str, Stats]]]:
        """How many workers have statistics, and the next page of these."""
        return await self._some(connection, self.keys.stats, lambda raw, _: read_stats(raw))

    async def _serving(self, connection: Connection, workers: Sequence[WorkerCard]) -> list[WorkerCard]:
        ids = [worker.id for worker in workers]
        stats: list[Stats | None] = [None] * len(ids)
        try:
            stats = await self._pick(connection, self.keys.stats, ids, lambda raw, _: read_stats(raw))
        except (NotConnected, ConnectionLost):
            # Their server may be away where that of the queue is not.
            if not connection.is_spread:
                raise
        # A worker may do without statistics; then nobody can know better.
        return [worker for worker, told in zip(workers, stats) if told is None or not told.draining]

    async def _live_ids(self, connection: Connection, queue: str, now_ms: int, *limit: Word) -> list[str]:
        leases = self.keys.queue(queue).leases
        return texts_of(await self._ask(connection, [], "ZRANGEBYSCORE", leases, now_ms, "+inf", *limit))

    async def _cards(self, connection: Connection, ids: Sequence[str]) -> list[WorkerCard]:
        if len(self._workers) > _MAX_CARDS:
            self._workers.clear()
        unread = [id for id in ids if id not in self._workers]
        for card in await self._pick(connection, self.keys.workers, unread, _worker_card_in):
            if card:
                self._workers[card.id] = card
        return [self._workers[id] for id in ids if id in self._workers]

    async def _pick(self, connection: Connection, key: str, fields: Sequence[str], read: Read[T]) -> list[T | None]:
        """
        Fields of a hash, in their order; None for what is missing or cannot be read. Asked for their lengths first: one field of many
        megabytes would hold up all that this connection is for.
        """
        if not fields:
            return []
        lengths = await connection.post(*[("HSTRLEN", key, field) for field in fields])
        fitting = [field for field, length in zip(fields, lengths) if not _is_long(length)]
        answers = await self._ask(connection, [None] * len(fitting), "HMGET", key, *fitting) if fitting else []
        texts = dict(zip(fitting, answers))
        for field, length in zip(fields, lengths):
            if _is_long(length):
                self._note(UnreadableRecord(key, field[:256], f"it is longer than {_MAX_RECORD_BYTES} bytes"))
        return [None if texts.get(field) is None else self._read(key, field, texts[field], read) for field in fields]

    async def _some(self, connection: Connection, key: str, read: Read[T]) -> tuple[int, list[tuple[str, T]]]:
        """How many fields a hash has, and the next page of them, anywhere at first: others read it, too."""
        fields = texts_of(await self._ask(connection, [], "HKEYS", key))
        place = self._places.get(key, int(random.random() * len(fields)))
        start = 0 if len(fields) <= _PAGE or place >= len(fields) else place
        self._places[key] = start + _PAGE
        page = fields[start : start + _PAGE]
        found = zip(page, await self._pick(connection, key, page, read))
        return len(fields), [(field, value) for field, value in found if value is not None]

    def _read(self, key: str, field: str, raw: bytes, read: Read[T]) -> T | None:
        try:
            return read(raw, field)
        except Unreadable as error:
            self._note(UnreadableRecord(key, field[:256], str(error)))
            return None

    async def _ask(self, connection: Connection, nothing: Any, name: str, key: str, *words: Word) -> Any:
        """Sends a command about one key. Of one that is of another type there is nothing to read, which hurts nobody else."""
        try:
            return await connection.one(name, key, *words)
        except ReplyError as error:
            if code_of(error) != "WRONGTYPE":
                raise
            self._note(UnreadableRecord(key, None, "it has another type (WRONGTYPE)"))
            return nothing


def _is_long(length: Any) -> bool:
    return isinstance(length, int) and length > _MAX_RECORD_BYTES


def _task_card_in(raw: bytes, field: str) -> TaskCard:
    card = read_task_card(raw)
    if field not in (card.task, further_field(card.task, card.queue)):
        raise Unreadable("it names another task or queue than its field")
    return card


def _worker_card_in(raw: bytes, field: str) -> WorkerCard:
    card = read_worker_card(raw)
    if card.id != field:
        raise Unreadable("it names another worker than its field")
    return card


def unreadable_teller(events: Events) -> Note:
    """Tells of each unreadable record once."""
    told: set[tuple[str, str | None]] = set()

    def tell(record: UnreadableRecord) -> None:
        name = (record.key, record.field)
        if name not in told and len(told) < _MAX_TOLD:
            told.add(name)
            events.emit("registry:unreadable", **record._asdict())

    return tell
