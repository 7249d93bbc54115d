"""What a worker holds, and how many of its slots run something."""

from __future__ import annotations

from typing import Dict, Iterable, List

from .clock import now_s


class Slots:
    """
    A request is known from its claim until Redis confirmed its release, which is longer than it runs; whatever Redis says we hold
    and is not known here was claimed by an answer that got lost.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._known: Dict[str, None] = {}
        self._busy: Dict[str, float] = {}
        self._used_s = 0.0

    @property
    def idle(self) -> int:
        return self.size - len(self._busy)

    @property
    def released(self) -> int:
        """Idle slots less those whose last request is not confirmed as released."""
        return self.size - len(self._known)

    @property
    def busy(self) -> int:
        return len(self._busy)

    def used_s(self) -> float:
        """Time used since the start, all slots together."""
        now = now_s()
        return self._used_s + sum(now - since for since in self._busy.values())

    def knows(self, id: str) -> bool:
        return id in self._known

    def take(self, id: str) -> bool:
        """False when the request is known already: it must not run twice."""
        if not self.know(id):
            return False
        self._busy[id] = now_s()
        return True

    def know(self, id: str) -> bool:
        """Known, but running nowhere here: it was taken over from a lost worker."""
        if id in self._known:
            return False
        self._known[id] = None
        return True

    def known_ids(self) -> List[str]:
        return list(self._known)

    def free(self, ids: Iterable[str]) -> None:
        """These ended; their slots can be given to others as soon as their release is on the way."""
        now = now_s()
        for id in ids:
            since = self._busy.pop(id, None)
            if since is not None:
                self._used_s += now - since

    def forget(self, ids: Iterable[str]) -> None:
        """Redis confirmed that these are not held any more."""
        for id in ids:
            self._known.pop(id, None)

    def reset(self) -> None:
        """After the identity changed: nothing of before counts."""
        self._known.clear()
        self.free(list(self._busy))
