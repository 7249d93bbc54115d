"""Modules that declare tasks, as the command that serves them is given them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..wire.errors import ConfigError
from ..wire.raised import message_of
from .collection import tasks_of
from .task import Task

_PACKAGE = str(Path(__file__).resolve().parent.parent)


class BrokenModule(Exception):
    """A module was found, and broke while it was loaded."""


def load_tasks(names: Sequence[str], folder: str) -> list[Task[..., Any]]:
    """
    The tasks of these modules: names of modules, or paths of files from ``folder``. A task that is in several counts once.

    Raises ConfigError when a module is not there or declares no task, BrokenModule when it fails while it is loaded.
    """
    # As where Python itself runs something: what lies there can be imported.
    sys.path.insert(0, folder)
    found: list[Task[..., Any]] = []
    for name in names:
        tasks = tasks_of(_load(name, Path(folder, name)))
        if not tasks:
            raise ConfigError(f"{name} declares no task. Declare one with @task.")
        found += [each for each in tasks if not any(each is known for known in found)]
    return found


def _load(name: str, path: Path) -> Any:
    is_path = name.endswith(".py") or "/" in name or "\\" in name
    if path.is_dir() and (is_path or not (path / "__init__.py").exists()):
        raise ConfigError(f"{name} is a directory; pass the path of a module in it.")
    if is_path and not path.is_file():
        raise ConfigError(f"There is no module {name} ({path}).")
    try:
        return _load_file(path) if is_path else importlib.import_module(name)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error
    except ModuleNotFoundError as error:
        if not is_path and error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            file = path.parent / f"{name.replace('.', '/')}.py"
            raise ConfigError(f"There is no module {name}: neither the file {file} nor a package of that name.") from error
        raise BrokenModule(f"{name} could not be loaded: {error}{_place_of(error)}.") from error
    except SyntaxError as error:
        raise BrokenModule(f"{name} could not be loaded: {error.msg} ({error.filename}:{error.lineno}).") from error
    except Exception as error:
        raise BrokenModule(f"{name} failed while loading: {_told(error)}{_place_of(error)}.") from error


def _load_file(path: Path) -> Any:
    # A file may be called as a module of others is, and must not take its place.
    name = path.stem if path.stem not in sys.modules else f"pshub_tasks_{path.stem}"
    # Its neighbours can be imported, as where Python runs that file.
    sys.path.insert(1, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _told(error: BaseException) -> str:
    """With its class: many messages, as that of a KeyError, are nothing without."""
    name, message = type(error).__name__, message_of(error)
    return name if message == name else f"{name}: {message}"


def _place_of(error: BaseException) -> str:
    """The last file and line on the way to it that are neither ours nor of the import system."""
    place: str | None = None
    for frame in traceback.extract_tb(error.__traceback__):
        if not frame.filename.startswith((_PACKAGE, "<frozen importlib")) and "/importlib/" not in frame.filename:
            place = f"{frame.filename}:{frame.lineno}"
    return "" if place is None else f" ({place})"
