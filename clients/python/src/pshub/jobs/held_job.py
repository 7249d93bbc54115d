"""
What a worker holds, and under which ids: a call under its own, a job under ``job:<id>``, what was adopted under ``lost:<id>`` or
``lost:job:<id>``, and what is to be done in another queue under ``out:<queue>:<id>``. Functions that put something back know its list
by that; nobody else reads these prefixes.
"""

from __future__ import annotations

import re

_OUT = re.compile(r"out:([A-Za-z0-9_.-]+):([A-Za-z0-9_-]+)")


def held_as_job(id: str) -> str:
    return f"job:{id}"


def is_held_job(held_id: str) -> bool:
    """Whether it is that of a job, of a lost worker's too."""
    return held_id.startswith(("job:", "lost:job:"))


def is_held_lost(held_id: str) -> bool:
    """Whether it was taken over from a lost worker, and may have been started there."""
    return held_id.startswith("lost:")


def is_held_out(held_id: str) -> bool:
    """Whether it is something to be done in another queue."""
    return held_id.startswith("out:")


def held_out(held_id: str) -> tuple[str, str] | None:
    """In which queue that is to be done, and for which job; None for what is none."""
    match = _OUT.fullmatch(held_id)
    return (match[1], match[2]) if match else None


def plain_id(held_id: str) -> str:
    """The id without what it is held as."""
    return held_id.removeprefix("lost:").removeprefix("job:")
