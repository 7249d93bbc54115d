"""How much there is of calls and jobs in one place."""

from __future__ import annotations

import asyncio

from ..redis.connection import Connection
from ..wire.keys import QueueKeys

_DAY_MS = 86_400_000


async def work_left(connection: Connection, keys: QueueKeys) -> int:
    """What waits, to be taken, for its time, for its next try or behind others of its key; and what workers hold, lost ones too."""
    workers = await connection.one("ZRANGEBYSCORE", keys.leases, "-inf", await connection.now_ms() + _DAY_MS)
    lists = [keys.calls, keys.jobs, keys.jobs_high, keys.jobs_low]
    asked = [
        *(connection.one("LLEN", key) for key in lists),
        *(connection.one("ZCARD", key) for key in (keys.scheduled, keys.retries, keys.later)),
        *(connection.one("HLEN", keys.held(worker.decode())) for worker in workers),
    ]
    counts, of_keys = await asyncio.gather(asyncio.gather(*asked), connection.one("HVALS", keys.lined))
    return sum(counts) + sum(max(0, int(count)) for count in of_keys)
