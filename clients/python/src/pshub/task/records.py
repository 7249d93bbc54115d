"""Classes with fields as hints: dataclasses, TypedDict and NamedTuple."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from ..wire.errors import ConfigError
from ..wire.payload import PayloadProblem, decode_payload, encode_payload
from .misfit import read_at

Schema = dict[str, Any]
#: Turns a JSON value that fits the schema into what the hint says; None: it is that already. What it raises says why it cannot.
Convert = Callable[[Any], Any] | None
Described = tuple[Schema, Convert]


class Place(NamedTuple):
    """Where a hint stands."""

    #: For who reads an error.
    what: str
    is_result: bool
    #: The classes around it.
    seen: tuple[Any, ...] = ()

    def inside(self, part: str) -> Place:
        return self._replace(what=f"{self.what}, {part}")

    def of(self, cls: Any) -> Place:
        return self._replace(seen=(*self.seen, cls))


#: schema_of() of task/hints.py.
Describe = Callable[[Any, Place], Described]


def object_of(properties: dict[str, Schema], required: list[str], rest: bool | None) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if rest is not None:
        schema["additionalProperties"] = rest
    return schema


def array_of(schemas: Sequence[Schema], least: int) -> Schema:
    if not schemas:
        return {"type": "array", "maxItems": 0}
    return {"type": "array", "prefixItems": list(schemas), "items": False, "minItems": least}


def with_default(schema: Schema, default: Any) -> Schema:
    """The schema that names its default, as that would travel; None, and what cannot travel, is named nowhere."""
    if default is None:
        return schema
    try:
        return {**schema, "default": decode_payload(encode_payload(default))}
    except PayloadProblem:
        return schema


def read_places(converts: Sequence[Convert], value: Iterable[Any]) -> list[Any]:
    """What each place of a list says of what is there."""
    return [read_at(place, convert, each) if convert else each for place, (convert, each) in enumerate(zip(converts, value))]


def _hints_of(cls: Any, place: Place) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except Exception as error:
        what = f"{place.what}: the hints of {cls.__name__} cannot be read"
        raise ConfigError(f"{what} ({error}); pass 'args' or 'result' as a schema instead.") from error


def dataclass_of(cls: Any, place: Place, describe: Describe) -> Described:
    hints = _hints_of(cls, place)
    only_given = [name for name, hint in hints.items() if isinstance(hint, dataclasses.InitVar)]
    if only_given:
        raise ConfigError(f"{place.what}: '{only_given[0]}' of {cls.__name__} is an InitVar: instances do not keep it, so it cannot be sent.")
    properties: dict[str, Schema] = {}
    required: list[str] = []
    converts: dict[str, Callable[[Any], Any]] = {}
    computed: set[str] = set()
    for field in dataclasses.fields(cls):
        if not field.init:
            # It travels with the rest, and whoever reads that makes its own.
            inside = place.inside(f"field '{field.name}'")
            properties[field.name] = describe(hints[field.name], inside)[0] if place.is_result else {}
            computed.add(field.name)
            continue
        schema, convert = describe(hints[field.name], place.inside(f"field '{field.name}'"))
        if field.default is not dataclasses.MISSING:
            schema = with_default(schema, field.default)
        elif field.default_factory is dataclasses.MISSING:
            required.append(field.name)
        properties[field.name] = schema
        if convert:
            converts[field.name] = convert
    fields = _fields(converts, computed)
    return object_of(properties, required, False), lambda value: cls(**fields(value))


def typed_dict_of(cls: Any, place: Place, describe: Describe) -> Described:
    properties: dict[str, Schema] = {}
    required = set(cls.__required_keys__)
    converts: dict[str, Callable[[Any], Any]] = {}
    for name, hint in _hints_of(cls, place).items():
        # Where hints are texts, the class itself has not read them.
        if is_qualified(typing.get_origin(hint), "NotRequired"):
            required.discard(name)
        elif is_qualified(typing.get_origin(hint), "Required"):
            required.add(name)
        properties[name], convert = describe(hint, place.inside(f"key '{name}'"))
        if convert:
            converts[name] = convert
    return object_of(properties, sorted(required), False), _fields(converts) if converts else None


def named_tuple_of(cls: Any, place: Place, describe: Describe) -> Described:
    """A list, as Python itself writes it."""
    hints = _hints_of(cls, place)
    defaults: dict[str, Any] = cls._field_defaults
    parts = [describe(hints.get(name, Any), place.inside(f"field '{name}'")) for name in cls._fields]
    schemas = [with_default(schema, defaults.get(name)) for name, (schema, _) in zip(cls._fields, parts)]
    converts = [convert for _, convert in parts]
    return array_of(schemas, len(parts) - len(defaults)), lambda value: cls(*read_places(converts, value))


def is_qualified(origin: Any, *names: str) -> bool:
    """What TypedDict says around the hint of a key, of ``typing`` or ``typing_extensions``."""
    return str(origin).rpartition(".")[2] in (names or ("Required", "NotRequired", "ReadOnly"))


def _fields(converts: dict[str, Callable[[Any], Any]], computed: Collection[str] = ()) -> Callable[[Any], dict[str, Any]]:
    """``computed`` are left out."""

    def read(value: Any) -> dict[str, Any]:
        given = value.items() if not computed else [(name, each) for name, each in value.items() if name not in computed]
        return {name: read_at(name, converts[name], each) if name in converts else each for name, each in given}

    return read
