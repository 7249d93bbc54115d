"""What may be tried again, and how much of it."""

from __future__ import annotations

from ..wire.errors import HubError, TaskFailed

#: Tries of one call, the first included.
MAX_TRIES = 3


def may_retry(error: HubError, idempotent: bool) -> bool:
    """
    Whether a failed call may be sent again without harm. Not after WorkerLost: an idempotent call whose worker died was run
    elsewhere already. Not when the deadline has passed or the queue is overloaded: more load would not help.
    """
    if error.code == "NotEnqueued":
        return True
    return idempotent and (error.code == "OutcomeUnknown" or (isinstance(error, TaskFailed) and error.retryable))


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
