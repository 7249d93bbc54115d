"""Task names: ``name:major.minor`` as declared, and as callers may shorten them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from .errors import ConfigError

_FULL = re.compile(r"([A-Za-z][A-Za-z0-9_./-]{0,99}):(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})")
#: Control characters and halves of surrogate pairs are not in it.
_BUILD = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,64}")
_CALLED = re.compile(r"([A-Za-z][A-Za-z0-9_./-]{0,99})(?::(0|[1-9][0-9]{0,5})(?:\.(0|[1-9][0-9]{0,5}))?)?")


class TaskName(NamedTuple):
    full: str
    name: str
    major: int
    minor: int


class CalledName(NamedTuple):
    name: str
    major: int | None
    minor: int | None


def is_build(value: Any) -> bool:
    """Which build of its program a worker runs: a text that its people chose."""
    return isinstance(value, str) and _BUILD.fullmatch(value) is not None


def try_parse_task_name(full: Any) -> TaskName | None:
    match = _FULL.fullmatch(full) if isinstance(full, str) else None
    return TaskName(full, match[1], int(match[2]), int(match[3])) if match else None


def parse_task_name(full: Any) -> TaskName:
    parsed = try_parse_task_name(full)
    if parsed is None:
        raise ConfigError(
            f"'{str(full)[:120]}' is not a task name. Write name:major.minor, as in 'resize_image:1.0' "
            "(a letter first, then letters, digits, and _ . / -)."
        )
    return parsed


def parse_called_name(called: Any) -> CalledName | None:
    """``name:1.0``, ``name:1`` or ``name``; None when it is none of these."""
    match = _CALLED.fullmatch(called) if isinstance(called, str) else None
    if match is None:
        return None
    major, minor = (None if text is None else int(text) for text in (match[2], match[3]))
    return CalledName(match[1], major, minor)


def newest_first(name: TaskName) -> tuple[int, int]:
    """A key for ``sorted``."""
    return (-name.major, -name.minor)


def near_names(called: str, known: Iterable[str]) -> list[str]:
    """Those that look most like ``called``, best first, at most three."""
    wanted = called.split(":")[0].lower()
    scored = []
    for full in known:
        name = full.split(":")[0].lower()
        if name == wanted:
            distance = 0
        elif wanted in name or name in wanted:
            distance = 1
        else:
            distance = _edit_distance(name, wanted)
        if distance <= max(2, len(wanted) / 3):
            scored.append((distance, full))
    return [full for _, full in sorted(scored)[:3]]


def _edit_distance(a: str, b: str) -> int:
    """Levenshtein, by the usual two-row dynamic programme."""
    above = list(range(len(b) + 1))
    for row, left in enumerate(a, 1):
        here = [row]
        for column, right in enumerate(b, 1):
            here.append(min(here[-1] + 1, above[column] + 1, above[column - 1] + (left != right)))
        above = here
    return above[-1]
