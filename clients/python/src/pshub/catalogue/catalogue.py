"""The one reader of the registry, for callers and workers. PROTOCOL.md, section 11."""

from __future__ import annotations

from typing import Any, AsyncIterator, Callable, Dict, List, Optional, Sequence, Set, Tuple, TypeVar

from ..figures.events import Events
from ..redis.client import Word
from ..redis.connection import Connection
from ..redis.refusals import ReplyError, code_of
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
        self._workers: Dict[str, WorkerCard] = {}

    async def task_fields(self, connection: Connection) -> List[TaskField]:
        """Where there are cards of tasks."""
        return [task_field_of(name) for name in texts_of(await self._ask(connection, [], "HKEYS", self.keys.tasks))]

    async def task_cards(self, connection: Connection, fields: Sequence[str]) -> List[TaskCard]:
        """The cards in these fields; those that are missing or cannot be read are left out."""
        return [card for card in await self._pick(connection, self.keys.tasks, fields, _task_card_in) if card]

    async def slots(self, connection: Connection, queue: str, task: str) -> int:
        """
        Slots of the workers that take requests for a task in a queue at the moment, together; 0 without any. These are the workers
        whose lease holds, that list the task on their card, and that are not draining: the one place that decides it.
        """
        providers = [card for card in await self._live_cards(connection, queue) if task in card.tasks]
        for at in range(0, len(providers), _STATS_PAGE):
            # One that takes calls is enough to know: others that drain make the sum too large while they leave.
            if await self._serving(connection, providers[at : at + _STATS_PAGE]):
                return sum(max(1, card.slots) for card in providers)
        return 0

    async def providers(self, connection: Connection, queue: str) -> List[WorkerCard]:
        """The workers that take requests in a queue at the moment."""
        return await self._serving(connection, await self._live_cards(connection, queue))

    async def all_tasks(self, connection: Connection) -> List[Tuple[str, TaskCard]]:
        """The cards of all tasks, with their fields."""
        return [each async for each in self._all(connection, self.keys.tasks, _task_card_in)]

    async def all_stats(self, connection: Connection) -> List[Tuple[str, Stats]]:
        """The last statistics of all workers."""
        return [each async for each in self._all(connection, self.keys.stats, lambda raw, _: read_stats(raw))]

    async def _serving(self, connection: Connection, workers: Sequence[WorkerCard]) -> List[WorkerCard]:
        stats = await self._pick(
            connection, self.keys.stats, [worker.id for worker in workers], lambda raw, _: read_stats(raw)
        )
        # A worker may do without statistics; then nobody can know better.
        return [worker for worker, told in zip(workers, stats) if told is None or not told.draining]

    async def _live_cards(self, connection: Connection, queue: str) -> List[WorkerCard]:
        now_ms = await connection.now_ms()
        leases = self.keys.queue(queue).leases
        ids = texts_of(await self._ask(connection, [], "ZRANGEBYSCORE", leases, now_ms, "+inf"))
        if len(self._workers) > _MAX_CARDS:
            self._workers.clear()
        unread = [id for id in ids if id not in self._workers]
        for card in await self._pick(connection, self.keys.workers, unread, _worker_card_in):
            if card:
                self._workers[card.id] = card
        return [self._workers[id] for id in ids if id in self._workers]

    async def _pick(
        self, connection: Connection, key: str, fields: Sequence[str], read: "Read[T]"
    ) -> List[Optional[T]]:
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

    async def _all(self, connection: Connection, key: str, read: "Read[T]") -> AsyncIterator[Tuple[str, T]]:
        """All that can be read of a hash, page by page."""
        fields = texts_of(await self._ask(connection, [], "HKEYS", key))
        for at in range(0, len(fields), _PAGE):
            page = fields[at : at + _PAGE]
            for field, value in zip(page, await self._pick(connection, key, page, read)):
                if value is not None:
                    yield field, value

    def _read(self, key: str, field: str, raw: bytes, read: "Read[T]") -> Optional[T]:
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
            self._note(UnreadableRecord(key, None, "it is of another type (WRONGTYPE)"))
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
    told: Set[Tuple[str, Optional[str]]] = set()

    def tell(record: UnreadableRecord) -> None:
        name = (record.key, record.field)
        if name not in told and len(told) < _MAX_TOLD:
            told.add(name)
            events.emit("registry:unreadable", **record._asdict())

    return tell
