"""The clock of pshub in this process and of its Redis in memory."""

from __future__ import annotations

import datetime
import math
import time

from ..wire.clock import clocks_ahead_s, move_clocks, now_s, wall_ms
from ..wire.errors import ConfigError
from ..wire.natives import has_zone
from .loops import Loops
from .memory.server import MemoryRedis, closed
from .runs import Runs
from .threads import Threads

#: Further than this the clock goes in strides: what looks around each second need not do so 86,400 times a day.
_EXACT_S = 60.0
#: So many on the way. While there is work none is so long that its worker's lease could end; who holds nothing just renews it.
_STRIDES = 300
_SAFE_STRIDE_S = 240.0
#: So many steps on the way are as short as anything that waits, after something has come due.
_EXACT_STEPS = 30
#: The clock goes no further at a time while there is work, and while there seems to be none.
_WORKING_S = 0.05
_LIVING_S = 2.0
#: So many turns of all event loops without a command, and nothing is going on.
_QUIET_TURNS = 4
#: Who works for so long, in real time, without a pause does so for ever.
_ENDLESS_S = 30.0
#: Threads that compute for so long are handlers, and not waited for.
_COMPUTING_S = 0.5
#: What is to happen this soon belongs to what is going on.
_SOON_S = 0.01

_loops = Loops()
_users = 0


class TestClock:
    """
    Runs by itself, so that nothing hangs; a test can advance it, and everything due on the way happens in order: schedules, retries,
    deadlines, expiring leases and keys. ``time.sleep`` in handlers is not affected.
    """

    __test__ = False

    def __init__(self, runs: Runs) -> None:
        global _users
        self._runs = runs
        self._threads = Threads()
        self._is_closed = False
        if _users == 0:
            _loops.begin()
        _users += 1
        self._redis: MemoryRedis | None = None

    def serve(self, redis: MemoryRedis) -> None:
        self._redis = redis

    @property
    def now_ms(self) -> int:
        """Milliseconds since 1970 on the clock of the test."""
        return int(wall_ms())

    def advance(self, seconds: float) -> None:
        """
        Advances the clock. Returns when everything due by then has happened. A running handler gets a tenth of a second of real time to
        end before the clock passes it.

        :raises ConfigError: for a negative or invalid time, and when the kit was closed
        :raises AssertionError: when work continues for half a minute of real time without a pause
        """
        if self._is_closed:
            raise closed()
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < math.inf:
            raise ConfigError(f"clock.advance() takes seconds from 0, not {seconds!r}.")
        end = now_s() + seconds
        longest = 0.0 if seconds <= _EXACT_S else seconds / _STRIDES
        exact_steps = _EXACT_STEPS
        self.quiet()
        while (now := now_s()) < end and not self._is_closed:
            left = bool(longest and self._redis and self._redis.ask(b"left"))
            stride = min(_SAFE_STRIDE_S, longest) if left or self._runs.running else longest
            if left and exact_steps > 0:
                # What is due is on its way to its handler, by timers of a few milliseconds.
                exact_steps -= 1
                stride = 0.0
            due = self._next_due(now)
            # Who lives waits for less than this: where nobody seems to, they are all on their way somewhere.
            reach = max(stride, _WORKING_S if left else _LIVING_S)
            to = min(max(_loops.next_at, now + stride), now + reach, due, end)
            if to == due:
                exact_steps = _EXACT_STEPS
            self._move_to(max(now, to))
            self.quiet()

    def advance_to(self, moment: datetime.datetime) -> None:
        """Advances the clock to a time. :raises ConfigError: when it has passed"""
        if not isinstance(moment, datetime.datetime):
            raise ConfigError(f"clock.advance_to() takes a datetime, not {moment!r}.")
        if not has_zone(moment):
            raise ConfigError(f"clock.advance_to() takes a datetime with a time zone, as datetime.now(timezone.utc) has, not {moment}.")
        seconds = moment.timestamp() - wall_ms() / 1000
        if seconds < 0:
            raise ConfigError(f"clock.advance_to() takes a future time: {moment} has passed, and the clock cannot go back.")
        self.advance(seconds)

    def quiet(self, patient: bool = True, end: float = math.inf) -> None:
        """
        Returns when nothing is going on: no command, and, but without patience, no handler that has just begun. Moves the clock by some
        milliseconds at most.

        :param end: of real time: it returns by then, whatever goes on
        :raises AssertionError: when that never ends
        """
        idle, seen, moves, changed_at = 0, -1, 0, 0.0
        endless_at = time.monotonic() + _ENDLESS_S
        while not self._is_closed and self._redis is not None and time.monotonic() < end:
            if end == math.inf and time.monotonic() > endless_at:
                raise AssertionError(f"Work continued for {_ENDLESS_S:g} s without a pause. Do jobs enqueue each other endlessly?")
            _loops.turn()
            idle += 1
            if self._redis.commands != seen:
                idle, seen, changed_at = 0, self._redis.commands, time.monotonic()
            if idle < _QUIET_TURNS:
                continue
            if time.monotonic() - changed_at < _COMPUTING_S and self._threads.are_busy:
                time.sleep(0.0005)
            elif patient and self._runs.may_end:
                time.sleep(0.001)
            elif _loops.next_at < now_s() + _SOON_S and moves < _QUIET_TURNS:
                moves += 1
                self._move_to(max(_loops.next_at, now_s()))
            else:
                return
            idle = 0

    def step(self, most_s: float, end: float = math.inf) -> float:
        """Moves on by what is to happen next, but by so much at most. Returns by how much."""
        _loops.turn()
        now = now_s()
        to = max(now, min(_loops.next_at, now + most_s))
        self._move_to(to)
        self.quiet(end=end)
        return to - now

    def close(self) -> None:
        """When the last one is closed, time is again what it is."""
        global _users
        if self._is_closed:
            return
        self._is_closed = True
        self._threads.close()
        _users -= 1
        if _users == 0:
            _loops.end()
            move_clocks(-clocks_ahead_s())

    def _move_to(self, at_s: float) -> None:
        move_clocks(max(0.0, at_s - now_s()))
        # They come to what is due sooner than they thought.
        _loops.turn()

    def _next_due(self, now: float) -> float:
        """When the next job or schedule is due after now."""
        assert self._redis is not None
        wall = wall_ms()
        [due] = self._redis.ask(b"due")
        # Redis counts whole milliseconds.
        return now + (float(due) - wall + 1) / 1000
