"""The library's rooms: who may import whom, and how long a file may be."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pshub

LIBRARY = Path(pshub.__file__).parent
#: From the ground; each imports only from itself and from those before it. In the library's own folder is what users import.
ROOMS = ["wire", "task", "figures", "redis", "queue", "settings", "catalogue", "outlets", "jobs", "hub", "http", "worker", "testing"]
MOST_LINES = 450


def _name_of(path: Path) -> str:
    return ".".join(("pshub", *path.relative_to(LIBRARY).with_suffix("").parts))


FILES = {_name_of(path): path for path in sorted(LIBRARY.rglob("*.py"))}


def _imports_of(name: str) -> set[str]:
    """All that a file imports, wherever in it: modules of the library by their names, others by their first word."""
    found = set()
    for node in ast.walk(ast.parse(FILES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = name.split(".")[: -node.level] if node.level else []
            module = ".".join([*start, *filter(None, [node.module])])
            found |= {inner if (inner := f"{module}.{each.name}") in FILES else module for each in node.names}
    return {each if each.split(".")[0] == "pshub" else each.split(".")[0] for each in found}


def _room_of(name: str) -> str:
    return name.split(".")[1] if name.count(".") > 1 else ""


def test_each_file_is_in_a_room() -> None:
    assert {_room_of(name) for name in FILES} == {*ROOMS, ""}
    assert [name for name in FILES if not _room_of(name)] == ["pshub.__init__", "pshub.__main__", "pshub.cli"]


def test_no_room_imports_from_a_later_one() -> None:
    wrong = []
    for name in FILES:
        allowed = {*ROOMS[: ROOMS.index(_room_of(name)) + 1]} if _room_of(name) else {*ROOMS}
        for imported in _imports_of(name):
            if (name, imported) == ("pshub.__main__", "pshub.cli"):
                continue
            if imported.split(".")[0] == "pshub" and not (imported in FILES and _room_of(imported) in allowed):
                wrong.append(f"{name} imports {imported}")
            if imported == "redis" and _room_of(name) != "redis":
                wrong.append(f"{name} imports redis-py")
    assert wrong == []


def test_no_imports_go_in_a_circle() -> None:
    open_ends: dict[str, set[str]] = {name: _imports_of(name) & {*FILES} for name in FILES}
    # What imports nothing that is left is in no circle.
    while free := {name for name, imported in open_ends.items() if not imported & {*open_ends}}:
        open_ends = {name: imported for name, imported in open_ends.items() if name not in free}
    assert sorted(open_ends) == []


def test_no_file_is_long() -> None:
    here = Path(__file__).resolve().parent
    paths: list[Path] = [*FILES.values(), *here.glob("*.py"), *(here.parent / "conformance").glob("*.py")]
    lengths = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    assert {path: length for path, length in lengths.items() if length > MOST_LINES} == {}


def test_nothing_waits_that_the_clock_of_a_test_could_not_move() -> None:
    """Time is that of ``wire.clock``; the command waits for people, and what a test moves does not move by itself."""
    own = [path for name, path in FILES.items() if name not in ("pshub.wire.clock", "pshub.cli") and _room_of(name) != "testing"]
    wrong = re.compile(r"\btime\.(time|monotonic|perf_counter)\b|\bnew_event_loop\b|\bfrom time import")
    assert [str(path) for path in own if wrong.search(path.read_text(encoding="utf-8"))] == []
