"""What a worker holds of one place, and how many of its slots run something of it."""

from __future__ import annotations

from collections.abc import Iterable

from ..wire.clock import now_s
from .slot_pool import SlotPool

#: A replica is seconds behind at most, unless its link is broken; then others would promote it after a minute or so.
_REMEMBERED_S = 60.0
#: What waits for another server is stuck after this long.
STUCK_S = 0.1
#: Some 100 bytes each.
_MOST_REMEMBERED = 200_000


class Slot:
    """Room that one running request takes. Counted by this token and not by the request's id, which may come twice."""

    __slots__ = ("is_job",)

    def __init__(self, is_job: bool) -> None:
        self.is_job = is_job


class Slots:
    """
    A request is known from its claim until Redis confirmed its release, which is longer than it runs; whatever Redis says we hold
    and is not known here was claimed by an answer that got lost, or released by one that a failover took back.
    """

    def __init__(self, pool: SlotPool) -> None:
        """``pool``: the worker's, for all places."""
        self._pool = pool
        #: With the ``at`` of a job, as Redis has it: a further try comes under the same id with another one.
        self._known: dict[str, str] = {}
        #: Of these what waits for another server than the one that this worker's queue is at.
        self._stuck: set[str] = set()
        #: And what is to be done in other queues.
        self._outs: set[str] = set()
        self._busy: dict[Slot, float] = {}
        self._released = _RecentIds()
        self._used_s = 0.0

    @property
    def size(self) -> int:
        """All that the worker has, for all of its places."""
        return self._pool.size

    @property
    def idle(self) -> int:
        """How many requests may be claimed, from any place."""
        return self._pool.idle

    @property
    def busy(self) -> int:
        return len(self._busy)

    def used_s(self) -> float:
        """Time used since the start, all slots together."""
        now = now_s()
        return self._used_s + sum(now - since for since in self._busy.values())

    def knows(self, id: str) -> bool:
        return id in self._known

    def know(self, id: str, at: str = "") -> bool:
        """
        Marks a request as known. False when it is already: it must not run twice. A job that is known with another ``at`` was settled
        here, and the answer to that is not here yet.
        """
        known = self._known.get(id)
        if known == at:
            return False
        self._known[id] = at
        if known is None:
            self._pool.held += 1
        return True

    def at_of(self, id: str) -> str:
        """The ``at`` that a job is known with."""
        return self._known.get(id, "")

    def send_out(self, id: str) -> None:
        """It is to be done in another queue, and nothing here waits for that."""
        if id not in self._outs:
            self._outs.add(id)
            self._pool.outs += 1
            self._pool.held -= 1

    def stick(self, ids: Iterable[str]) -> None:
        """These cannot go before another server is back, which must not keep what this one has from being served."""
        for id in ids:
            if id in self._known and id not in self._stuck:
                self._stuck.add(id)
                self._pool.stuck += 1

    def known_ids(self) -> list[str]:
        return list(self._known)

    def take(self, is_job: bool = False) -> Slot:
        """A request starts."""
        slot = Slot(is_job)
        self._busy[slot] = now_s()
        self._pool.busy += 1
        self._pool.busy_jobs += is_job
        return slot

    def free(self, slot: Slot | None) -> None:
        """It ended; the slot can be given to another one at once. Repeating it is harmless."""
        since = self._busy.pop(slot, None) if slot is not None else None
        if slot is not None and since is not None:
            self._used_s += now_s() - since
            self._pool.busy -= 1
            self._pool.busy_jobs -= slot.is_job

    def forget(self, ids: Iterable[str]) -> None:
        """Not held here any more: others have them."""
        for id in ids:
            self._forget(id)

    def _forget(self, id: str) -> None:
        if id not in self._known:
            return
        del self._known[id]
        if id in self._outs:
            self._outs.discard(id)
            self._pool.outs -= 1
        else:
            self._pool.held -= 1
        if id in self._stuck:
            self._stuck.discard(id)
            self._pool.stuck -= 1

    def settled(self, jobs: Iterable[tuple[str, str]]) -> None:
        """Redis confirmed that these, with their ``at``, were put where they belong. One that has come again since is held still."""
        self.forget([id for id, at in jobs if self._known.get(id) == at])

    def released(self, ids: Iterable[str]) -> None:
        """Redis confirmed that these are not held any more."""
        for id in ids:
            self._forget(id)
            self._released.add(id)

    def was_released(self, id: str) -> bool:
        """Whether this worker settled and released it a while ago: a replica that was promoted may not have heard of that."""
        return id in self._released

    def reset(self) -> None:
        """After the identity changed: nothing of before counts."""
        self.forget(self.known_ids())
        for slot in list(self._busy):
            self.free(slot)


class _RecentIds:
    """Ids of the last one to two minutes, or the last 200,000 to 400,000 if these are fewer. Nothing is forgotten while nothing comes."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._before: set[str] = set()
        self._since = now_s()

    def add(self, id: str) -> None:
        now = now_s()
        if now - self._since > _REMEMBERED_S or len(self._ids) >= _MOST_REMEMBERED:
            self._before, self._ids = self._ids, set()
            self._since = now
        self._ids.add(id)

    def __contains__(self, id: str) -> bool:
        return id in self._ids or id in self._before
