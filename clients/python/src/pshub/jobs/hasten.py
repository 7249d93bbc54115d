"""What waits for its time is taken at once."""

from __future__ import annotations

from ..queue.job_queue import JobQueue
from ..redis.connection import Connection
from .job_record import JobStatus
from .job_text import hastened_message


async def hasten(connection: Connection, queue: JobQueue, status: JobStatus) -> bool:
    """Has a tracked job taken now that is ``scheduled`` or ``retrying``; False where it is not, or does not lie there."""
    if status.state not in ("scheduled", "retrying") or status.due_ms is None:
        return False
    lying = await queue.lying_at(connection, status.state, status.id, status.due_ms)
    if lying is None:
        return False
    text = lying.decode()
    return await queue.revive(connection, [(text, hastened_message(text))]) == 1
