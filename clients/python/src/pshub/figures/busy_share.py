"""How busy a worker is."""

from __future__ import annotations

from ..wire.clock import now_s

_BUSY_MEMORY_S = 60.0


class BusyShare:
    """What share of its slots' time a worker used in the last minute."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._looks: list[tuple[float, float]] = [(now_s(), 0.0)]

    def look(self, used_s: float) -> float:
        """0 to 1. ``used_s`` is the time used since the start, all slots together."""
        now = now_s()
        self._looks.append((now, used_s))
        while len(self._looks) > 2 and now - self._looks[1][0] >= _BUSY_MEMORY_S:
            self._looks.pop(0)
        since, before = self._looks[0]
        all_s = (now - since) * self._slots
        return 0.0 if all_s <= 0 else round(min(1.0, max(0.0, (used_s - before) / all_s)), 3)
