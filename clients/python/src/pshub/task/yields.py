"""Functions that yield."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from ..wire.errors import ConfigError

_YIELDS = (
    collections.abc.Iterator, collections.abc.Iterable, collections.abc.Generator,
    collections.abc.AsyncIterator, collections.abc.AsyncIterable, collections.abc.AsyncGenerator,
)  # fmt: skip

#: What is said of the chunks of a task: their schema, True where anything may come, None where nothing is said.
Yields = Mapping[str, Any] | bool | None


def is_yielding(function: Callable[..., Any]) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def yields_of(function: Callable[..., Any], given: Yields) -> Yields:
    """What is known of what a function yields."""
    return (is_yielding(function) or None) if given is None else given


def refuse_yields(function: Callable[..., Any], task: str, given: Yields) -> None:
    """Of a task that merges its jobs. Raises ConfigError."""
    if is_yielding(function) or given is not None:
        raise ConfigError(f"{task}: nobody reads what a run of merged jobs yields; let its function yield nothing.")


def result_hint(function: Callable[..., Any], hint: Any) -> Any:
    """
    What a caller of a function is given that asks for no stream: of one that yields what it returns, or where that is nothing the list of
    all that it yields.
    """
    if not is_yielding(function):
        return hint
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is collections.abc.Generator and len(inner) == 3 and inner[2] not in (None, type(None)):
        return inner[2]
    return types.GenericAlias(list, (inner[0],)) if origin in _YIELDS and inner else Any
