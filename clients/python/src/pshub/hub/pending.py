"""A call that is under way, for threads that wait for it."""

from __future__ import annotations

import threading
from typing import Any, Callable, Generic, Optional

from ..task.task import R_co
from ..wire.clock import now_s
from ..wire.errors import HubError, OutcomeUnknown
from .call import Outgoing
from .dispatch import Dispatch
from .gather import Outcome
from .loop import LoopThread

#: How long beyond its deadline a caller waits for the hub's own thread to say so.
_PATIENCE_S = 0.2


class PendingCall(Generic[R_co]):
    """A call that is under way; what ``Hub.submit`` returns."""

    def __init__(
        self, thread: Optional[LoopThread], dispatch: Optional[Dispatch], read: Callable[[Any], Any] = lambda value: value
    ) -> None:
        """``read`` makes of a result what its caller is given."""
        self._read = read
        self._thread = thread
        self._dispatch = dispatch
        self._lock = threading.Lock()
        self._lock.acquire()
        self._value: Any = None
        self._error: Optional[HubError] = None
        self._ended_at: Optional[float] = None
        self.out: Optional[Outgoing] = None

    def _settle(self, value: Any, error: Optional[HubError]) -> None:
        self._value = value
        self._error = error
        self._ended_at = now_s()
        self._lock.release()

    @property
    def done(self) -> bool:
        return self._ended_at is not None

    def cancel(self) -> None:
        """Gives up: a waiting request is taken out of the list, a running handler is told. ``result`` raises Aborted."""
        if self._thread is not None and self._dispatch is not None and self.out is not None:
            self._thread.post(self._dispatch.cancel, self.out)

    def result(self) -> R_co:
        """Waits for the result. Raises HubError by the call's deadline at the latest."""
        self._wait()
        if self._error is not None:
            raise self._error
        value: R_co = self._read(self._value)
        return value

    def outcome(self) -> Outcome:
        """The same without raising."""
        self._wait()
        started_at = self.out.started_at if self.out else now_s()
        ms = ((self._ended_at or now_s()) - started_at) * 1000
        try:
            return Outcome(True, self.result(), None, ms)
        except HubError as error:
            return Outcome(False, None, error, ms)

    def _wait(self) -> None:
        try:
            while self._ended_at is None:
                end = self.out.end if self.out else None
                left = 1.0 if end is None else min(1.0, max(0.05, end + _PATIENCE_S - now_s()))
                if self._lock.acquire(timeout=left):
                    self._lock.release()
                    return
                is_dead = self._thread is None or not self._thread.is_alive
                if (is_dead or (end is not None and now_s() > end + _PATIENCE_S)) and self._ended_at is None:
                    self._error = OutcomeUnknown("The hub's own thread did not say in time how the call ended.")
                    self._ended_at = now_s()
                    return
        except BaseException:
            # The thread that waits was interrupted: nobody waits any more.
            self.cancel()
            raise
