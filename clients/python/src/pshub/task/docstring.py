"""What a function's docstring says of it and of its parameters."""

from __future__ import annotations

import re

_PARAM = re.compile(r"^:param\s+(?:\w+\s+)?(\w+):\s*(.*)$")
_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Return|Raises|Yields|Examples?):\s*$")
_ENTRY = re.compile(r"^\s+(\w+)(?:\s*\([^)]*\))?:\s*(.+)$")


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """The description, and what is said about parameters, as reStructuredText fields or in a section ``Args:``."""
    kept: list[str] = []
    notes: dict[str, str] = {}
    section = current = None
    for line in text.splitlines():
        field, heading = _PARAM.match(line), _SECTION.match(line)
        if field:
            section, current = "fields", field[1]
            notes[current] = field[2]
        elif line.startswith(":"):
            section, current = "fields", None
        elif heading:
            section, current = heading[1], None
        elif section is None:
            kept.append(line)
        elif section in ("Args", "Arguments", "Parameters") and _ENTRY.match(line):
            entry = _ENTRY.match(line)
            assert entry is not None
            current = entry[1]
            notes[current] = entry[2]
        elif current and line.strip():
            notes[current] += f" {line.strip()}"
        elif not line.strip():
            current = None
    return "\n".join(kept).strip(), {name: note.strip() for name, note in notes.items()}
