"""What a hub and a worker reckon from what they see: waits, run times, and how much may be tried again."""

from __future__ import annotations

import math
from typing import Dict, Optional, Tuple

from .clock import now_s
from .errors import HubError


class RunTimes:
    """
    How long a task runs at least, as far as its last runs tell: a low expectile, because what it decides is that a request cannot
    finish any more. Seconds.
    """

    # Faster runs pull ten times as hard as slower ones do.
    _DOWN = 0.3
    _UP = 0.03
    # Without a run for this long a task counts as unknown: else one that was slow for a while would never run again.
    _MEMORY_S = 5.0
    _MAX_TASKS = 10_000

    def __init__(self) -> None:
        self._known: Dict[str, Tuple[float, float]] = {}

    def note(self, task: str, seconds: float) -> None:
        """A run that succeeded."""
        now = now_s()
        known = self._known.get(task)
        if known and now - known[1] < self._MEMORY_S:
            pull = self._DOWN if seconds < known[0] else self._UP
            seconds = known[0] + pull * (seconds - known[0])
        elif len(self._known) >= self._MAX_TASKS:
            self._known.clear()
        self._known[task] = (seconds, now)

    def of(self, task: str) -> float:
        """0 for a task that did not run lately."""
        known = self._known.get(task)
        return known[0] if known and now_s() - known[1] < self._MEMORY_S else 0.0


class Forecast:
    """
    How long a request pushed now would wait in its queue. Every reply tells how long its request waited on Redis' clock, and its
    push told how many were ahead of it: their quotient is the time that one place in the list takes, with all workers and all
    callers in it. Where it errs it errs to the short side, so that nothing is refused that could have been served.
    """

    # A length of the list is believed this long; then the next push looks again.
    _BELIEVED_S = 0.05
    # After this long without a reply nothing is known of the rate any more.
    _RATE_MEMORY_S = 10.0
    # What each reply leaves of the older ones' weight.
    _DECAY = 0.9
    # What was seen of a list is taken to hold for one this many times as long, and no further.
    _REACH = 4
    # A place takes as long as a run divided by the slots. When much more is measured, nothing was served meanwhile, and that is
    # over. When less is, requests were dropped whose time was up: to count those as served would let in more of them.
    _MOST = 2
    _LEAST = 0.9
    _OVERHEAD_S = 0.0001

    def __init__(self) -> None:
        #: Of all live workers: so many requests are taken at once when nothing waits.
        self.slots = 1
        self._waited = self._places = self._busy = self._replies = self._reach = 0.0
        self._sampled_at = self._seen_at = -math.inf
        self._length = 0

    def learn(self, ahead: int, waited_s: float, busy_s: float) -> None:
        """A request with ``ahead`` others before it waited this long, and then kept a slot busy."""
        now = now_s()
        kept = self._DECAY if now - self._sampled_at < self._RATE_MEMORY_S else 0.0
        self._waited = self._waited * kept + waited_s
        self._places = self._places * kept + ahead + 1
        self._busy = self._busy * kept + busy_s
        self._replies = self._replies * kept + 1
        self._reach = max(self._reach * kept, ahead + 1)
        self._sampled_at = now

    def see(self, length: int) -> None:
        """A push left the list at this length."""
        self._length = length
        self._seen_at = now_s()

    def length(self) -> Optional[float]:
        """About how many are in the list, when it was seen a moment ago."""
        age = now_s() - self._seen_at
        place = self._place()
        if age > self._BELIEVED_S or place == 0:
            return None
        return max(0.0, self._length - age / place)

    def wait_s(self, ahead: float) -> float:
        """Until a request behind ``ahead`` others is taken, as far as that is known; else 0."""
        return max(0.0, min(ahead + 1 - self.slots, self._reach * self._REACH)) * self._place()

    def length_within(self, patience_s: float) -> float:
        """How many requests may be in the list for the last of them to wait no longer than this; inf when that is not known."""
        place = self._place()
        places = patience_s / place if place else math.inf
        return self.slots + math.floor(places) if places < self._reach * self._REACH else math.inf

    def _place(self) -> float:
        if now_s() - self._sampled_at >= self._RATE_MEMORY_S or not self._places:
            return 0.0
        run = self._busy / self._replies / self.slots
        place = max(self._waited / self._places, self._LEAST * run)
        return min(place, self._MOST * run + self._OVERHEAD_S)


#: Tries of one call, the first included.
MAX_TRIES = 3


def may_retry(error: HubError, idempotent: bool) -> bool:
    """
    Whether a failed call may be sent again without harm. Not after WorkerLost: an idempotent call whose worker died was run
    elsewhere already. Not when the deadline has passed or the queue is overloaded: more load would not help.
    """
    if error.code == "NotEnqueued":
        return True
    return idempotent and (error.code == "OutcomeUnknown" or (error.code == "TaskFailed" and error.retryable))


class RetryBudget:
    """What all calls of a hub may spend on retries, so that they add a tenth to the load at most: a bucket that calls fill."""

    _MOST = 10.0

    def __init__(self) -> None:
        self._tokens = self._MOST

    def on_call(self) -> None:
        self._tokens = min(self._MOST, self._tokens + 0.1)

    def take(self) -> bool:
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
