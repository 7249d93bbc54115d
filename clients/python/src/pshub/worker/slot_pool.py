"""The slots of a worker, for all places that it serves."""

from __future__ import annotations

#: So many may be held beyond the usual because other servers are away: replies.
_MOST_STUCK = 1000
#: So many things that are to be done in other queues are held before no more jobs are taken, whose ends ask for more of them.
_MOST_OUTS = 1000


class SlotPool:
    """Counted by the ``Slots`` of each place."""

    def __init__(self, size: int, job_slots: int = 0) -> None:
        """``job_slots``: the most that run jobs at once."""
        self.size = size
        self._job_slots = job_slots
        self.busy = 0
        self.busy_jobs = 0
        self.held = 0
        self.stuck = 0
        #: What is held beside these, to be done in other queues: as long as one of them cannot be written, all others are served.
        self.outs = 0

    @property
    def idle(self) -> int:
        """
        How many requests may be claimed: one for each idle slot, unless three times as many as there are slots are held. That is what
        a busy worker comes to: what runs, what is answered, and what is on its way to be released. Beyond that Redis refuses
        releases, or does not answer, and what this worker holds must not grow without an end.
        """
        held = self.held - min(self.stuck, _MOST_STUCK)
        return min(self.size - self.busy, 3 * self.size - held)

    @property
    def job_room(self) -> int:
        """How many more jobs may run, as far as slots are idle."""
        return 0 if self.outs >= _MOST_OUTS else max(0, min(self._job_slots - self.busy_jobs, self.idle))

    @property
    def takes_jobs(self) -> bool:
        """Whether this worker takes jobs at all."""
        return self._job_slots > 0
