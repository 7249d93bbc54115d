"""
What ``Annotated`` says beside a hint: a text is a description, a dict has keywords of JSON Schema, and bounds are those of annotated-types, pydantic
and msgspec, by the names of their attributes; none of these packages is needed. What says nothing of that is passed over.
"""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..wire.errors import ConfigError
from .records import Place, Schema

_BOUNDS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum", "multiple_of": "multipleOf"}
_LENGTHS = {"min_length": "min", "max_length": "max"}
_COUNTED = {"string": "Length", "array": "Items", "object": "Properties"}
#: They are compared in Python, and no schema says so.
_NO_BOUNDS = (float, str, decimal.Decimal, datetime.date, datetime.time)
_TEXTS = ("description", "title")


def constrained(schema: Schema, said: Sequence[Any], place: Place) -> Schema:
    """Raises ConfigError for a bound that the schema cannot have: it would hold for nothing."""
    more: dict[str, Any] = {}
    for each in said:
        for part in _parts(each):
            more.update(_keywords(part, _types(schema), place))
    return {**schema, **more}


def _parts(said: Any) -> Iterator[Any]:
    """pydantic's Field has its bounds in a list."""
    yield said
    inner = getattr(said, "metadata", None)
    if isinstance(inner, list):
        for each in inner:
            yield from _parts(each)


def _types(schema: Schema) -> set[str]:
    given = schema.get("type", [])
    found = {given} if isinstance(given, str) else set(given)
    return found.union(*(_types(each) for each in schema.get("anyOf", [])))


def _keywords(said: Any, types: set[str], place: Place) -> dict[str, Any]:
    if isinstance(said, str):
        return {"description": said}
    if isinstance(said, Mapping):
        return dict(said)
    found: dict[str, Any] = {}
    for name, keyword in _BOUNDS.items():
        bound = getattr(said, name, None)
        if isinstance(bound, datetime.timedelta):
            bound = bound.total_seconds()
        if isinstance(bound, (int, float)) and not isinstance(bound, bool) and math.isfinite(bound):
            _want(types, {"integer", "number"}, name, place)
            found[keyword] = bound
        elif isinstance(bound, _NO_BOUNDS):
            raise ConfigError(f"{place.what}: {name!r} is {bound!r}, and a bound of JSON Schema is a finite number; check that in the function.")
    for name, start in _LENGTHS.items():
        length = getattr(said, name, None)
        if isinstance(length, int) and (start, length) != ("min", 0):
            _want(types, {*_COUNTED}, name, place)
            found.update({f"{start}{_COUNTED[each]}": length for each in types if each in _COUNTED})
    pattern = getattr(said, "pattern", None)
    if isinstance(pattern, str):
        _want(types, {"string"}, "pattern", place)
        found["pattern"] = pattern
    documented: list[Any] = [(name, getattr(said, name, None)) for name in _TEXTS]
    documented.append(("description", getattr(said, "documentation", None)))
    return {**found, **{name: text for name, text in documented if isinstance(text, str)}}


def _want(types: set[str], wanted: set[str], name: str, place: Place) -> None:
    if not types & wanted:
        raise ConfigError(f"{place.what}: {name!r} says nothing of a value that is {' or '.join(sorted(types)) or 'anything'} in JSON.")
