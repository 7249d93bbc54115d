"""How long each part of a call took."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional


class Phases(NamedTuple):
    """Microseconds. ``backlog`` is on Redis' clock, the others on the worker's."""

    backlog: int
    queue: int
    exec: int


def phases_of(us: Any) -> Optional[Phases]:
    try:
        return Phases(*(max(0, int(us[name])) for name in Phases._fields))
    except (TypeError, KeyError, ValueError, OverflowError):
        return None
