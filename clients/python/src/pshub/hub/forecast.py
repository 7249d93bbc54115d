"""How long a list may be, by what a hub sees of it. PROTOCOL.md, section 9.6. All in milliseconds."""

from __future__ import annotations

import math

from ..wire.clock import now_s

#: A length of the list is believed this long; then the next push looks again.
_BELIEVED_MS = 50.0
# After this long without a reply nothing is known of the rate any more.
_RATE_MEMORY_MS = 10_000.0
_RATE_MEMORY_RUNS = 20
#: What each reply leaves of the older ones' weight. They come at the rate that is measured: some twenty follow a change.
_DECAY = 0.9
#: What was seen of a list is taken to hold for one this many times as long, and no further.
_REACH = 4
# A place takes as long as a run divided by the slots. When much more is measured, nothing was served meanwhile, and that is over.
# When less is, requests were dropped whose time was up: to count those as served would let in more of them.
_MOST = 2
_LEAST = 0.9
_OVERHEAD_MS = 0.1
#: What was late is taken to have needed its time so often: nobody knows, and where nothing is answered a small step is lost time.
_MISS = 2
#: A call is rejected if its estimated wait exceeds this share of its time: the estimate is uncertain.
_PATIENCE = 0.8
# The shortest interval; in runs, so that tasks of seconds have bursts of seconds; in places, so that chance fills no lone slot's list;
# and as a part of what callers can wait, so that a pause is no overload to those who have time.
_LEAST_INTERVAL_MS = 100.0
_INTERVAL_RUNS = 5
_INTERVAL_PLACES = 16
_INTERVAL_PART = 0.1
# What loses this part of what is served goes by itself, for less is called than served; so many intervals are waited for it.
_GOING_PART = 0.25
_GOING_INTERVALS = 10
#: When no push found the list empty for so long, then its first ones do not wait for a claim to arrive, but for a slot.
_BUSY_MS = 50.0
#: The target in slots: those that end together find the list filled for one more round of theirs, and one is left.
_TARGET_SLOTS = 2
#: And in time, for tasks so short that what comes must wait for pushes and claims.
_TARGET_MS = 10.0
#: Without a look for this long, or for an interval, nothing is known of the list any more.
_LOOK_MEMORY_MS = 1000.0


def now_ms() -> float:
    return now_s() * 1000


class Forecast:
    """
    Every reply tells how long its request waited on Redis' clock, and its push told how many were ahead of it: their quotient is the
    time that one place in the list takes, with all workers and all callers in it. Where that errs it errs to the short side, so that
    nothing is refused that could have been served.

    A list that is as long as deadlines allow serves no more than a short one, and everything in it waits long. So one that stands is
    kept at its target, a little more than the slots take at once twice, until a push finds it all but empty. It stands when every
    push of an interval found the target or more, while it was served and went down no faster than if hardly less was called than
    served. A burst goes down faster, and passes.
    """

    def __init__(self) -> None:
        #: Of all live workers: so many requests are taken at once when nothing waits.
        self.slots = 1
        self._waited = self._places = self._busy = 0.0
        self._replies = 0.0
        #: The longest list that the last replies had before them.
        self._reach = 0.0
        self._sampled_at = -math.inf
        self._length = 0.0
        self._seen_at = -math.inf
        #: Nothing was answered yet, and what is known comes from what was late.
        self._is_guess = False
        #: Since when every push found something in the list.
        self._waiting_since = math.inf
        #: About the longest time that calls had left when they were pushed.
        self._left_ms = 0.0
        # Since when every push found the target or more; the interval that is looked at, and the most that was found in it.
        self._long_since = self._interval_from = math.inf
        self._longest = 0.0
        self._is_risen = False
        self._stands = False
        self._stood_at = -math.inf

    def learn(self, ahead: int, waited_ms: float, busy_ms: float) -> None:
        """A request with ``ahead`` others before it waited this long, and then kept a slot busy."""
        now = now_ms()
        # It waited for a worker that stood still, which is none of its caller's doing: what came meanwhile may take its time to go.
        stall_ms = waited_ms - (ahead + 1) * self._place_ms()
        if self._long_since != math.inf and stall_ms > self._interval_ms():
            self._is_long(self._length, now)
        kept = _DECAY if self._is_rate_known(now) and not self._is_guess else 0
        # Summed apart, so that one that waited behind many counts for more than one that found a slot idle.
        self._waited = self._waited * kept + waited_ms
        self._places = self._places * kept + ahead + 1
        self._busy = self._busy * kept + busy_ms
        self._replies = self._replies * kept + 1
        self._reach = max(self._reach * kept, ahead + 1)
        self._sampled_at = now
        self._is_guess = False

    def miss(self, ahead: int, ms: float) -> None:
        """
        A request with ``ahead`` others before it was not answered within ``ms``. Where all of them are late, nothing else tells: it
        waited and ran for so long at least, and all slots did what it did.
        """
        if self._is_rate_known(now_ms()) and not self._is_guess:
            return
        place_ms = _MISS * ms / (ahead + 1 + self.slots)
        self.learn(ahead, place_ms * (ahead + 1), place_ms * self.slots)
        self._is_guess = True

    def see(self, length: int, added: int, left_ms: float = 0.0) -> None:
        """A push found the list at this length, and left ``added`` more in it; the most patient of its calls had so much time left."""
        now = now_ms()
        self._left_ms = max(left_ms, self._left_ms * _DECAY)
        if self._is_forgotten(now):
            self._waiting_since = self._long_since = math.inf
        self._waiting_since = math.inf if length == 0 else min(self._waiting_since, now)
        # At the target all slots may end at once and leave half of it, never as little as this.
        self._stands = length > self.slots / 4 if self._stands_at(now) else self._is_standing(length, now)
        if self._stands:
            self._stood_at = now
        self._length = length + added
        self._seen_at = now

    def length(self) -> float | None:
        """About how many are in the list, when it was seen a moment ago."""
        age_ms = now_ms() - self._seen_at
        place_ms = self._place_ms()
        if age_ms > _BELIEVED_MS or place_ms == 0:
            return None
        return max(0.0, self._length - age_ms / place_ms)

    def wait_ms(self, ahead: float) -> float:
        """Until a request behind ``ahead`` others is taken, as far as that is known; else 0."""
        now = now_ms()
        if not self._is_rate_known(now):
            return 0.0
        return max(0.0, min(ahead + 1 - self._idle(now), self._reach * _REACH)) * self._place_ms()

    def patience_ms(self, left_ms: float) -> float:
        """
        How long a call with so much time left can wait, so that its task can still be run. Half of its time at most is kept for the
        run: the mean of all tasks of a queue may be far from this one's.
        """
        run_ms = self._run_ms() if self._is_rate_known(now_ms()) else 0.0
        return max(0.0, left_ms - min(run_ms, left_ms / 2)) * _PATIENCE

    def length_within(self, left_ms: float) -> float:
        """How many requests may be in the list for one more with so much time left; inf when nothing is known."""
        now = now_ms()
        most = self._most(now)
        place_ms = self._place_ms()
        if not self._is_rate_known(now) or place_ms == 0:
            return most
        places = self.patience_ms(left_ms) / place_ms
        if places >= self._reach * _REACH:
            return most
        return min(most, max(1, self._idle(now) + math.floor(places)))

    def _is_standing(self, length: int, now: float) -> bool:
        """Whether the list was long for an interval, in which something was served and it became no shorter to speak of."""
        interval_ms = self._interval_ms()
        self._longest = max(self._longest, length)
        if length < self._target():
            self._long_since = math.inf
        elif self._long_since == math.inf:
            self._is_long(length, now)
        elif self._sampled_at >= self._long_since and now - self._interval_from >= interval_ms / (1 if self._is_risen else 2):
            place_ms = self._place_ms()
            served = (now - self._interval_from) / place_ms if place_ms else math.inf
            goes = self._longest - length > served * _GOING_PART
            if self._is_risen and not (goes and now - self._long_since < interval_ms * _GOING_INTERVALS):
                return True
            # The first look was at the beginning of a burst, perhaps: a list that became longer since may be going already.
            self._is_risen = True
            self._interval_from = now
            self._longest = length
        return False

    def _is_long(self, length: float, now: float) -> None:
        self._long_since = self._interval_from = now
        self._is_risen = False
        self._longest = length

    def _most(self, now: float) -> float:
        """How long the list may be, whoever calls: no longer than its target while it stands."""
        if self._stands_at(now):
            return self._target()
        if now - self._stood_at > self._memory_ms():
            return math.inf
        # Perhaps it was empty for a moment only, when a hub paused or a lot expired: it is not a first burst that may fill it.
        return 2 * self._target()

    def _stands_at(self, now: float) -> bool:
        return self._stands and not self._is_forgotten(now)

    def _is_forgotten(self, now: float) -> bool:
        return now - self._seen_at > self._memory_ms()

    def _memory_ms(self) -> float:
        return max(_LOOK_MEMORY_MS, self._interval_ms())

    def _interval_ms(self) -> float:
        if self._replies == 0:
            return _RATE_MEMORY_MS
        runs_ms = self._run_ms() * max(_INTERVAL_RUNS, _INTERVAL_PLACES / self.slots)
        return max(_LEAST_INTERVAL_MS, runs_ms, self._left_ms * _INTERVAL_PART)

    def _target(self) -> float:
        """The length with which no slot waits for work."""
        in_slots = _TARGET_SLOTS * self.slots + 1
        if self._replies == 0:
            return in_slots
        place_ms = self._place_ms()
        return max(in_slots, math.floor(_TARGET_MS / place_ms)) if place_ms else math.inf

    def _idle(self, now: float) -> int:
        """Slots that may take at once what is pushed: none when others wait for them, and not just for a claim to arrive."""
        return 0 if now - self._waiting_since > _BUSY_MS else self.slots

    def _is_rate_known(self, now: float) -> bool:
        return now - self._sampled_at < max(_RATE_MEMORY_MS, _RATE_MEMORY_RUNS * self._run_ms())

    def _run_ms(self) -> float:
        """As it was last known; 0 when nothing ever was."""
        return 0.0 if self._replies == 0 else self._busy / self._replies

    def _place_ms(self) -> float:
        """As it was last known; 0 when nothing ever was."""
        if self._replies == 0:
            return 0.0
        run_ms = self._run_ms() / self.slots
        return min(max(self._waited / self._places, _LEAST * run_ms), _MOST * run_ms + _OVERHEAD_MS)
