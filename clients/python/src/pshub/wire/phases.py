"""How long each part of a call took."""

from __future__ import annotations

from typing import Any, NamedTuple


class Phases(NamedTuple):
    """Microseconds. ``backlog`` is on Redis' clock, the others on the worker's."""

    backlog: int
    queue: int
    exec: int


def phases_of(us: dict[str, Any] | None) -> Phases | None:
    """Of a reply that was read."""
    return Phases(*(int(us[name]) for name in Phases._fields)) if us else None
