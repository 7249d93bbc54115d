"""Jobs of a hub that has no Redis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..wire.errors import HubError, hub_error


class EnqueuedJob(NamedTuple):
    """A job as it was enqueued."""

    id: str
    #: ``name:version``
    task: str
    args: Any
    queue: str
    #: When it is to begin at the earliest, milliseconds since 1970 on the clock of the hub.
    due_ms: int
    key: str | None = None


class JobRecord:
    """What is known of a job."""

    def __init__(self, enqueued: EnqueuedJob, part: Mapping[str, Any], text: str, ends_ms: float | None) -> None:
        self.enqueued = enqueued
        #: What it carries as a job.
        self.part = part
        #: As it would lie in its list.
        self.text = text
        self.due_ms = enqueued.due_ms
        #: Nobody wants it any more after that.
        self.ends_ms = ends_ms
        self.state = "waiting"
        self.tries = 0
        self.error: HubError | None = None
        self.result: Any = None

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "dead", "expired")


class InlineJob:
    """What ``enqueue`` returns."""

    def __init__(self, record: JobRecord, is_twin: bool = False) -> None:
        self._record = record
        #: It was there already, when the same was enqueued as ``unique``.
        self.is_twin = is_twin

    @property
    def id(self) -> str:
        return self._record.enqueued.id

    @property
    def task(self) -> str:
        return self._record.enqueued.task

    @property
    def queue(self) -> str:
        return self._record.enqueued.queue

    @property
    def state(self) -> str:
        """``waiting``, also for its time, ``retrying``, ``done``, ``dead`` or ``expired``"""
        return self._record.state

    @property
    def tries(self) -> int:
        """How often it has failed so far."""
        return self._record.tries

    @property
    def error(self) -> HubError | None:
        """How it failed last."""
        return self._record.error

    def result(self, timeout_ms: float | None = None) -> Any:
        """
        Of a job that is done. Nothing is waited for: it runs in ``drain``.

        :raises HubError: how it failed, of one that is dead; Timeout of one that has not ended
        """
        if self.state == "done":
            return self._record.result
        if self.state == "dead" and self.error is not None:
            raise self.error
        message = f"The job of {self.task} is {self.state}; drain() runs what is due."
        raise hub_error("Timeout", message, task=self.task, id=self.id)
