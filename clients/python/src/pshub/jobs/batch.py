"""Jobs that belong together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .job import AsyncJob, JobHost
from .job_record import moment_of


class BatchStatus(NamedTuple):
    """
    The progress of a batch.

    :ivar total: number of jobs; None while they are being enqueued
    :ivar dead: how many are dead, expired or cancelled
    :ivar ended_ms: when the last one ended, Redis milliseconds
    """

    total: int | None
    done: int
    dead: int
    ended_ms: int | None


class AsyncBatch:
    """
    Jobs that belong together: when all have ended, the follow-up job is enqueued once.

    :ivar queue: queue in which it is counted: that of the follow-up job
    :ivar ids: ids of its jobs
    :ivar after: the follow-up job
    :ivar failed: the follow-up job if one of the jobs failed
    """

    def __init__(
        self,
        host: Callable[[], JobHost],
        id: str,
        queue: str,
        ids: list[str],
        after: AsyncJob[Any] | None,
        failed: AsyncJob[Any] | None,
    ) -> None:
        self.id = id
        self.queue = queue
        self.ids = ids
        self.after = after
        self.failed = failed
        self._host = host

    def on(self, host: JobHost) -> AsyncBatch:
        """The same batch, asked over another host."""
        return AsyncBatch(lambda: host, self.id, self.queue, self.ids, self.after, self.failed)

    async def status(self) -> BatchStatus | None:
        """None when it ended more than an hour ago."""
        host = self._host()
        fields = await host.ask(lambda connection: host.queue_of(self.queue).batch(connection, self.id))
        if "opened" not in fields:
            return None
        total, done, dead, ended_ms = (moment_of(fields.get(name)) for name in ("total", "done", "dead", "ended"))
        return BatchStatus(total, done or 0, dead or 0, ended_ms)
