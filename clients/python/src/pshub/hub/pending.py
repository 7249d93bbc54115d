"""A call that is under way, for threads that wait for it."""

from __future__ import annotations

import concurrent.futures
import math
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from ..task.task import R
from ..wire.clock import now_s
from ..wire.errors import Aborted, HubError, OutcomeUnknown
from .call import Outgoing
from .dispatch import Dispatch
from .gather import Outcome
from .loop import LoopThread

#: How long beyond its deadline a caller waits for the hub's own thread to say so.
_PATIENCE_S = 0.2

if concurrent.futures.TimeoutError is TimeoutError:
    _StillUnderWay = TimeoutError
else:

    class _StillUnderWay(concurrent.futures.TimeoutError, TimeoutError):  # type: ignore[no-redef, misc]
        """Before Python 3.11 these are two."""


class PendingCall(concurrent.futures.Future[R]):
    """
    A call in flight; what ``Hub.submit`` returns. It is a ``concurrent.futures.Future``, for ``as_completed``, ``wait``,
    ``asyncio.wrap_future`` and others.
    """

    def __init__(self, thread: LoopThread | None, dispatch: Dispatch | None, read: Callable[[Any], Any] | None = None) -> None:
        """``read`` makes of a result what its caller is given."""
        super().__init__()
        self._read = read
        #: Held while that is done, once.
        self._reading = None if read is None else threading.Lock()
        self._is_read = False
        self._read_value: Any = None
        self._read_error: HubError | None = None
        self._thread = thread
        self._dispatch = dispatch
        self._ended_at: float | None = None
        self._is_given_up = False
        self.out: Outgoing | None = None

    def add_done_callback(self, fn: Callable[[concurrent.futures.Future[R]], object]) -> None:
        """
        Like every Future, and in the context of the caller. An exception on the hub's own thread is logged, even SystemExit: it must not
        end the thread that serves other calls.
        """

        context = copy_context()

        def guarded(future: concurrent.futures.Future[R]) -> None:
            try:
                context.run(fn, future)
            except Exception:
                raise
            except BaseException as raised:
                if self._thread is None or not self._thread.is_current:
                    raise
                raise RuntimeError(f"A callback raised {type(raised).__name__}; the call is not affected.") from raised

        super().add_done_callback(guarded)

    def _settle(self, value: Any, error: HubError | None) -> None:
        self._ended_at = now_s()
        try:
            if error is None:
                self.set_result(value)
            else:
                self.set_exception(error)
        except concurrent.futures.InvalidStateError:
            # Whoever waits has given it up: the hub's thread comes too late.
            pass

    def cancel(self) -> bool:
        """
        Cancels the call: a waiting request is removed from the queue, a running handler is notified. The call then fails with Aborted,
        unless it ended just before. Returns False if it had already ended.
        """
        if self.done():
            return False
        self._is_given_up = True
        if self._thread is not None and self._dispatch is not None and self.out is not None:
            self._thread.post(self._dispatch.cancel, self.out)
        return True

    def cancelled(self) -> bool:
        """Whether it ended because of ``cancel``."""
        return self._is_given_up and self.done() and isinstance(super().exception(), Aborted)

    def running(self) -> bool:
        """Whether it has not ended: a caller does not see when its worker starts."""
        return not self.done()

    def result(self, timeout: float | None = None) -> R:
        """
        Waits for the result. Raises HubError by the deadline of the call at the latest.

        :param timeout: wait at most this many seconds, then raise TimeoutError; the call continues
        """
        self._wait(timeout)
        value = super().result()
        if self._read is None:
            return value
        error = self._read_once(value)
        if error is not None:
            raise error
        read: R = self._read_value
        return read

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits for the end like ``result``, and returns the error that it would raise; None on success."""
        self._wait(timeout)
        error = super().exception()
        return error if error is not None or self._read is None else self._read_once(super().result())

    def outcome(self) -> Outcome:
        """Waits for the end without raising its error."""
        error = self.exception()
        started_at = self.out.started_at if self.out else now_s()
        ms = round(((self._ended_at or now_s()) - started_at) * 1000, 3)
        if isinstance(error, HubError):
            return Outcome(False, None, error, ms)
        return Outcome(True, self.result(), None, ms)

    def _read_once(self, value: Any) -> HubError | None:
        """On the thread of who asks: it may be code of his own. Why it is not what was promised, if it is not."""
        assert self._reading is not None and self._read is not None
        with self._reading:
            if not self._is_read:
                try:
                    self._read_value = self._read(value)
                except HubError as error:
                    self._read_error = error
                self._is_read = True
            return self._read_error

    def _wait(self, timeout: float | None) -> None:
        if self._ended_at is not None:
            return
        if self._thread is not None and self._thread.is_current:
            self.cancel()
            raise RuntimeError("A listener or callback of a hub runs on the hub's own thread, which cannot wait for a call.")
        until = math.inf if timeout is None else now_s() + timeout
        try:
            while not self._has_ended_within(min(self._patience_s(), until - now_s())):
                if now_s() >= until:
                    break
        except BaseException:
            # The thread that waits was interrupted: nobody waits any more.
            self.cancel()
            raise
        if not self.done():
            raise _StillUnderWay("The call has not ended yet.")

    def _patience_s(self) -> float:
        """How long to wait before the hub's thread is looked at again."""
        end = self.out.end if self.out else None
        return 1.0 if end is None else min(1.0, max(0.05, end + _PATIENCE_S - now_s()))

    def _has_ended_within(self, seconds: float) -> bool:
        try:
            super().exception(max(0.0, seconds))
            return True
        except concurrent.futures.TimeoutError:
            pass
        end = self.out.end if self.out else None
        is_dead = self._thread is None or not self._thread.is_alive
        if is_dead or (end is not None and now_s() > end + _PATIENCE_S):
            self._settle(None, OutcomeUnknown("The hub's own thread did not report in time how the call ended."))
        return self.done()
