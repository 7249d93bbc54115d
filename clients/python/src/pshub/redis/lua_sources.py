"""
The Lua code that this package brings along. A clone has its sources, an installed package one file of each. The build of a package
(hatch_build.py) runs this module alone.
"""

from __future__ import annotations

import json
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_CLONE = _PACKAGE / "../../../.."
#: The files of an installed package, and the folders of a clone that they are joined from.
FOLDERS = {"redis/library.lua": "src/queue/lua", "testing/memory/redis.lua": "clients/memory"}


def is_clone() -> bool:
    return all((_CLONE / folder / "parts.json").exists() for folder in FOLDERS.values())


def lua_text(name: str) -> bytes:
    """Of one of FOLDERS. Raises OSError."""
    if not is_clone():
        return (_PACKAGE / name).read_bytes()
    folder = _CLONE / FOLDERS[name]
    parts: list[str] = json.loads((folder / "parts.json").read_bytes())
    return b"".join((folder / part).read_bytes() if part.endswith(".lua") else part.encode() for part in parts)
