"""Over which shards the queue of a worker is spread, as its beats tell."""

from __future__ import annotations

from typing import Optional

from ..jobs.held_job import is_held_job
from ..queue.shards import Shards, epoch_in, home_of, parse_shards
from ..wire.keys import whole_queue
from ..wire.message import Request


class Sharding:
    def __init__(self, queue: str) -> None:
        self._queue = queue
        self._known: Optional[Shards] = None
        #: What its place said last.
        self._text: Optional[bytes] = None
        #: Of that, for claims; 0 for nothing. Of what cannot be read, too: it must not keep work back.
        self.epoch = 0

    def on_beat(self, text: Optional[bytes]) -> None:
        # Each beat brings it, and it is nearly always what it was.
        if text == self._text:
            return
        self._text = text
        self.epoch = 0 if text is None else epoch_in(text)
        told = parse_shards(text, whole_queue(self._queue))
        if told is not None and told.epoch > (self._known.epoch if self._known else 0):
            self._known = told

    def shard_of(self, request: Request, now_us: int) -> Optional[str]:
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
        return home if home != self._queue else None
