"""Which tasks a worker is given, and which a module declares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..wire.errors import ConfigError
from .task import Task


def check_tasks(tasks: Iterable[Any]) -> dict[str, Task[..., Any]]:
    """The tasks of a worker by name. Raises ConfigError for anything that @task did not make, and for a task given twice."""
    by_name: dict[str, Task[..., Any]] = {}
    for each in tasks:
        if not isinstance(each, Task):
            raise ConfigError(f"'tasks' holds {each!r}, which @task did not make.")
        if each.name.full in by_name:
            raise ConfigError(f"The task {each.name.full} is listed twice.")
        by_name[each.name.full] = each
    if not by_name:
        raise ConfigError("A worker needs 'tasks': a list of tasks made by @task.")
    return by_name


def tasks_of(module: Any) -> list[Task[..., Any]]:
    """All tasks in a module's namespace: by themselves, or in a list or a dict."""
    found: dict[int, Task[..., Any]] = {}
    for value in list(vars(module).values()):
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
        for each in inner:
            if isinstance(each, Task):
                found[id(each)] = each
    return list(found.values())
