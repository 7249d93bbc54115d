"""How long each part of a call took."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional


class Phases(NamedTuple):
    """Microseconds. ``backlog`` is on Redis' clock, the others on the worker's."""

    backlog: int
    queue: int
    exec: int


def phases_of(us: Optional[Dict[str, Any]]) -> Optional[Phases]:
    """Of a reply that was read."""
    return Phases(*(int(us[name]) for name in Phases._fields)) if us else None
