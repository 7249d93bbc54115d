"""Over which shards the queue of a worker is spread, as its beats tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..jobs.held_job import is_held_job
from ..queue.shards import Shards, epoch_in, home_of, note_shards, parse_shards, served_shards
from ..redis.connection import Connection
from ..wire.keys import Keys, whole_queue
from ..wire.message import Request


class _Read(NamedTuple):
    """What a place said last."""

    text: bytes
    #: Of that, for claims. Of what cannot be read, too: it must not keep work back.
    epoch: int


class Sharding:
    def __init__(self, queue: str, keys: Keys, on_shards: Callable[[Sequence[str]], None]) -> None:
        self._whole = whole_queue(queue)
        self._keys = keys
        #: Told which shards are to be served, when that is news.
        self._on_shards = on_shards
        self._known: Shards | None = None
        self._read: dict[str, _Read] = {}

    def epoch_of(self, place: str) -> int:
        """0 where nothing is said."""
        read = self._read.get(place)
        return read.epoch if read else 0

    def on_beat(self, place: str, text: bytes | None) -> None:
        # Each beat brings it, and it is nearly always what it was.
        read = self._read.get(place)
        if text == (read.text if read else None):
            return
        if text is None:
            del self._read[place]
            return
        self._read[place] = _Read(text, epoch_in(text))
        told = parse_shards(text, self._whole)
        if told is not None and told.epoch > (self._known.epoch if self._known else 0):
            self._known = told
            self._on_shards(served_shards(told))

    async def bring_up(self, place: str, connection: Connection) -> None:
        """A place that is behind what is known elsewhere is brought up to that."""
        known = self._known
        if known is not None and self.epoch_of(place) < known.epoch and place in served_shards(known):
            await note_shards(connection, self._keys, place, known)

    def is_gone(self, place: str) -> bool:
        """It was a shard, and is none any more; nor may there be anything of before."""
        return self._known is not None and place not in served_shards(self._known)

    def shard_of(self, place: str, request: Request, now_us: int) -> str | None:
        """
        The shard into which a job is to be moved that was taken here; None for what is run here. Where its key belongs elsewhere, others of
        that key may run at the same time.
        """
        job = request.job
        if self._known is None or job is None or "key" not in job or not is_held_job(request.held_id):
            return None
        is_over = request.at_us is not None and 0 < request.ttl_ms * 1000 <= now_us - request.at_us
        if is_over or "merged" in job or "run" in job:
            return None
        home = home_of(self._known.names, job["key"])
        return home if home != place else None
