"""From a hint to its JSON Schema, and to what reads a JSON value as the hint promises it."""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union

from ..wire.errors import ConfigError
from .constraints import constrained
from .misfit import read_at
from .models import model_of
from .natives import NATIVES, enum_of, literal_of
from .records import (
    Convert,
    Described,
    Place,
    Schema,
    array_of,
    dataclass_of,
    is_qualified,
    named_tuple_of,
    read_places,
    typed_dict_of,
)
from .unions import union_of

_SIMPLE: dict[Any, Described] = {
    int: ({"type": "integer"}, None),
    float: ({"type": "number"}, None),
    str: ({"type": "string"}, None),
    bool: ({"type": "boolean"}, None),
    None: ({"type": "null"}, None),
    type(None): ({"type": "null"}, None),
    Any: ({}, None),
    inspect.Parameter.empty: ({}, None),
    object: ({}, None),
    dict: ({"type": "object"}, None),
    list: ({"type": "array"}, None),
    tuple: ({"type": "array"}, tuple),
    set: ({"type": "array"}, set),
    frozenset: ({"type": "array"}, frozenset),
    **NATIVES,
}
_UNIONS = (Union, types.UnionType)
_LISTS = (list, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Iterable, collections.abc.Collection)
_SETS = {set: set, collections.abc.Set: set, collections.abc.MutableSet: set, frozenset: frozenset}
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def schema_of(hint: Any, place: Place) -> Described:
    """Raises ConfigError for a hint that says nothing about JSON."""
    try:
        if hint in _SIMPLE:
            schema, convert = _SIMPLE[hint]
            return dict(schema), convert
    except TypeError:
        pass
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in _UNIONS:
        return union_of([schema_of(member, place) for member in inner], place)
    if origin is Literal:
        return literal_of(inner, place.what)
    if origin is Annotated:
        schema, convert = schema_of(inner[0], place)
        return constrained(schema, inner[1:], place), convert
    if is_qualified(origin):
        return schema_of(inner[0], place)
    if origin is tuple:
        return _tuple(inner, place)
    if origin in _LISTS or origin in _SETS:
        schema, convert = schema_of(inner[0], place)
        return {"type": "array", "items": schema}, _each(convert, _SETS.get(origin))
    if origin in _DICTS:
        return _mapping(inner, place)
    return _class(hint, place)


def _class(hint: Any, place: Place) -> Described:
    model = model_of(hint, place)
    if model is not None:
        return model
    # A name for another hint: NewType, and since Python 3.12 'type'.
    meant = getattr(hint, "__supertype__", None) or getattr(hint, "__value__", None)
    is_name = meant is not None and not isinstance(hint, type)
    if (is_name or isinstance(hint, type)) and hint in place.seen:
        raise ConfigError(f"{place.what}: {hint.__name__} is recursive; pass 'args' or 'result' as a schema instead.")
    if is_name:
        return schema_of(meant, place.of(hint))
    if isinstance(hint, type):
        if issubclass(hint, enum.Enum):
            return enum_of(hint, place.what)
        if dataclasses.is_dataclass(hint):
            return dataclass_of(hint, place.of(hint), schema_of)
        if issubclass(hint, tuple) and hasattr(hint, "_fields"):
            return named_tuple_of(hint, place.of(hint), schema_of)
        if hasattr(hint, "__required_keys__"):
            return typed_dict_of(hint, place.of(hint), schema_of)
    raise ConfigError(f"{place.what}: {hint!r} has no JSON form; pass 'args' or 'result' as a schema instead.")


def _each(convert: Convert, kind: Callable[[list[Any]], Any] | None) -> Convert:
    if convert is None:
        return kind

    def read(value: Any) -> Any:
        found = [read_at(place, convert, each) for place, each in enumerate(value)]
        return found if kind is None else kind(found)

    return read


def _mapping(inner: tuple[Any, ...], place: Place) -> Described:
    names, key = schema_of(inner[0], place)
    schema, convert = schema_of(inner[1], place)
    whole: Schema = {"type": "object", "additionalProperties": schema}
    if names == {"type": "integer"}:
        names, key = {"pattern": "^-?[0-9]+$"}, int
    elif names and names.get("type") != "string" and not _are_texts(names.get("enum")):
        raise ConfigError(f"{place.what}: the keys of an object must be strings, not {inner[0]!r}.")
    if names not in ({}, {"type": "string"}):
        whole["propertyNames"] = names
    return whole, None if key is None and convert is None else _mapped(key, convert)


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(each, str) for each in values)


def _mapped(key: Convert, convert: Convert) -> Callable[[Any], Any]:
    def read(value: Any) -> dict[Any, Any]:
        return {read_at(name, key, name) if key else name: read_at(name, convert, each) if convert else each for name, each in value.items()}

    return read


def _tuple(inner: tuple[Any, ...], place: Place) -> Described:
    if len(inner) == 2 and inner[1] is Ellipsis:
        schema, convert = schema_of(inner[0], place)
        return {"type": "array", "items": schema}, _each(convert, tuple)
    parts = [schema_of(each, place) for each in inner]
    converts = [convert for _, convert in parts]
    return array_of([schema for schema, _ in parts], len(parts)), lambda value: tuple(read_places(converts, value))
