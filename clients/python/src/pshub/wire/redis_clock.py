"""Redis' clock as far as it is known here."""

from __future__ import annotations

import math

_MEMORY_S = 10.0
#: An answer that is later than this is none: the clock was set back. Connections do not wait so long.
_STEP_S = 2.0
#: As far ahead of all the last answers: the clock was set forward. It drifts by microseconds in that time.
_FORWARD_S = 0.25


class RedisClock:
    """
    Redis' clock from answers that tell the time at which they were given. They are read later than that, so the estimate is
    behind by an answer's way, and the shortest of the last ways counts. It is never ahead: what is judged late by it is late.
    """

    def __init__(self) -> None:
        self._best = self._before = self._period_end = -math.inf
        #: When an answer last showed that Redis' clock was set forward.
        self.stepped_at = -math.inf

    def learn(self, at_us: int, at_s: float) -> None:
        """An answer came at ``at_s`` that Redis gave at ``at_us``."""
        if at_s > self._period_end:
            # Old samples go, so that neither drift nor a step of Redis' clock stays in the estimate.
            self._before = -math.inf if at_s > self._period_end + _MEMORY_S else self._best
            self._best = -math.inf
            self._period_end = at_s + _MEMORY_S
        offset = at_us / 1e6 - at_s
        known = max(self._best, self._before)
        # Nothing but a step does that: an answer that is read late shows less, never more.
        if known != -math.inf and offset > known + _FORWARD_S:
            self.stepped_at = at_s
        if offset < known - _STEP_S:
            self._best = self._before = offset
        else:
            self._best = max(self._best, offset)

    def at_us(self, at_s: float) -> int:
        """Redis microseconds at that moment, or a little less; 0 while nothing is known."""
        offset = max(self._best, self._before)
        if offset == -math.inf or at_s > self._period_end + _MEMORY_S:
            return 0
        return math.floor((at_s + offset) * 1e6)
