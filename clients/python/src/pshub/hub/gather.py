"""Many calls at once."""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional

from ..wire.errors import HubError


class Outcome(NamedTuple):
    """How one entry of a gather ended: with ``value``, or with ``error``."""

    ok: bool
    value: Any
    error: Optional[HubError]
    #: Its own wait, in milliseconds.
    ms: float


class Entry(NamedTuple):
    """One call of a gather."""

    called: Any
    args: Any = {}
    timeout: Optional[float] = None
    queue: Optional[str] = None

    def options(self, timeout: Optional[float], queue: Optional[str]) -> Dict[str, Any]:
        """Its own, and of those that it does not name these."""
        return {
            "timeout": timeout if self.timeout is None else self.timeout,
            "queue": queue if self.queue is None else self.queue,
        }


def entries_of(calls: Optional[Mapping[str, Any]], named: Mapping[str, Any]) -> Dict[str, Entry]:
    twice = [key for key in calls or () if key in named]
    if twice:
        raise TypeError(f"gather: {twice[0]!r} is given twice.")
    entries = {}
    for key, entry in {**(calls or {}), **named}.items():
        if isinstance(entry, (str, bytes)) or not isinstance(entry, (tuple, list)):
            entry = (entry,)
        if not 1 <= len(entry) <= 4:
            raise TypeError(f"gather: {key!r} must be (task,), (task, args), (task, args, timeout) or with a queue behind that.")
        entries[key] = Entry(*entry)
    return entries
