"""How far a job is that runs."""

from __future__ import annotations

from ..queue.job_queue import JobQueue
from ..redis.connection import Connection
from ..redis.refusals import ReplyError
from ..wire.streams import read_progress_text
from .job_record import JobStatus


async def with_progress(status: JobStatus, queue: JobQueue, connection: Connection) -> JobStatus:
    """The same status, of a job that runs with what its handler said last."""
    if status.state != "running":
        return status
    try:
        return status._replace(progress=read_progress_text(await queue.progress(connection, status.id)))
    except ReplyError:
        # Of another kind, or this user may not see it.
        return status
