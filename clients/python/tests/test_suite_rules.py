"""Rules for the tests themselves: what made them fail by chance on a busy machine is not written again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
_CLOCKS = {"monotonic", "perf_counter", "time", "monotonic_ns", "perf_counter_ns"}


def _attribute(node: ast.AST, module: str) -> str | None:
    """The function of a module that is called here."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        return node.func.attr if node.func.value.id == module else None
    return None


def _is_sleep(node: ast.AST) -> bool:
    if _attribute(node, "asyncio") == "sleep":
        assert isinstance(node, ast.Call)
        # sleep(0) gives way to other coroutines and waits for nothing.
        return not (isinstance(node.args[0], ast.Constant) and node.args[0].value == 0)
    return _attribute(node, "time") == "sleep"


def _is_elapsed(node: ast.AST) -> bool:
    """Whether a time that was measured here is subtracted from, or subtracted."""
    return any(
        isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub) and any(_attribute(each, "time") in _CLOCKS for each in ast.walk(part))
        for part in ast.walk(node)
    )


def _measured(tree: ast.AST) -> set[str]:
    """Names that are given an elapsed time."""
    assigned = (node for node in ast.walk(tree) if isinstance(node, ast.Assign) and _is_elapsed(node.value))
    return {target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)}


def _upper_bounds(tree: ast.AST) -> Iterator[int]:
    """Lines that demand that something took less than some time."""
    names = _measured(tree)

    def is_time(node: ast.AST) -> bool:
        return _is_elapsed(node) or (isinstance(node, ast.Name) and node.id in names)

    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, operator, right in zip(sides, node.ops, sides[1:]):
                smaller = left if isinstance(operator, (ast.Lt, ast.LtE)) else right if isinstance(operator, (ast.Gt, ast.GtE)) else None
                if smaller is not None and is_time(smaller):
                    yield node.lineno


def _scans(tree: ast.AST) -> Iterator[int]:
    """Lines that make anything but a set of what SCAN tells."""
    sets = [node for node in ast.walk(tree) if isinstance(node, ast.SetComp) or (isinstance(node, ast.Call) and ast.unparse(node.func) == "set")]
    loops = [node.iter for node in ast.walk(tree) if isinstance(node, ast.For)]
    fine = {id(each) for node in [*sets, *loops] for each in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "scan_iter" and id(node) not in fine:
            yield node.lineno


def problems_of(text: str) -> list[str]:
    tree = ast.parse(text)
    sleeps = [node.lineno for node in ast.walk(tree) if _is_sleep(node)]
    return [
        *(f"{line}: sleeps; wait for a condition with eventually(), or use delay() and say why" for line in sleeps),
        *(f"{line}: has an upper bound for an elapsed time, which a busy machine exceeds" for line in _upper_bounds(tree)),
        *(f"{line}: takes the keys of SCAN for a list; SCAN may repeat a key, so make it a set" for line in _scans(tree)),
    ]


def test_the_tests_keep_the_rules() -> None:
    paths = [path for path in sorted(HERE.glob("*.py")) if path.name != "waits.py"]
    assert [f"{path.name}:{problem}" for path in paths for problem in problems_of(path.read_text(encoding="utf-8"))] == []
