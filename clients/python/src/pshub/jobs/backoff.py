"""How long a job waits before it is tried again. PROTOCOL.md, section 10.11."""

from __future__ import annotations

import math
import random as randoms

from ..wire.job_part import Backoff

#: A job is tried again so often, unless it or its task says otherwise.
DEFAULT_RETRIES = 25
_FIRST_MS = 1000
_DAY_MS = 24 * 3600 * 1000


def delay_after(backoff: Backoff, failures: int, random: float | None = None) -> int:
    """
    Milliseconds until the next try, after so many ``failures`` (1 is the first); ``random`` is 0 to 1. ``exponential``: a second,
    doubled with each failure, at most a day, spread over half to all of it. ``polynomial``: n^4 + 15 + (0 to 30) * (n + 1) seconds
    after failure n, counted from 0, as Sidekiq has it. A number: always that. A list: after the first failure, the second, ...; its
    last one goes on.
    """
    n = failures - 1
    spread = randoms.random() if random is None else random
    if backoff == "polynomial":
        return rounded((float(n) ** 4 + 15 + spread * 30 * (n + 1)) * 1000)
    if isinstance(backoff, str):
        full = min(_DAY_MS, _FIRST_MS * 2 ** min(n, 30))
        return rounded(full / 2 + full / 2 * spread)
    if isinstance(backoff, (int, float)):
        return rounded(backoff)
    return rounded(backoff[min(n, len(backoff) - 1)])


def rounded(value: float) -> int:
    """A half up, as in other languages."""
    return math.floor(value + 0.5)
