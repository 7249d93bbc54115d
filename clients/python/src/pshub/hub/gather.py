"""Many calls at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..wire.errors import HubError


class Outcome(NamedTuple):
    """The outcome of one entry of ``gather``: a ``value``, or an ``error``."""

    ok: bool
    value: Any
    error: HubError | None
    #: Its own wait, in milliseconds.
    ms: float


class Entry(NamedTuple):
    """One call of a gather."""

    called: Any
    args: Any = {}
    timeout: float | None = None
    queue: str | None = None

    def options(self, timeout: float | None, queue: str | None) -> dict[str, Any]:
        """Its own, and of those that it does not name these."""
        return {
            "timeout": timeout if self.timeout is None else self.timeout,
            "queue": queue if self.queue is None else self.queue,
        }


def entries_of(calls: Mapping[str, Any] | None, named: Mapping[str, Any]) -> dict[str, Entry]:
    twice = [key for key in calls or () if key in named]
    if twice:
        raise TypeError(f"gather: {twice[0]!r} is listed twice.")
    entries = {}
    for key, entry in {**(calls or {}), **named}.items():
        if isinstance(entry, (str, bytes)) or not isinstance(entry, (tuple, list)):
            entry = (entry,)
        if not 1 <= len(entry) <= 4:
            raise TypeError(f"gather: {key!r} must be (task,), (task, args), (task, args, timeout) or with a queue behind that.")
        entries[key] = Entry(*entry)
    return entries
