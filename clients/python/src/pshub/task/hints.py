"""From a function's signature and docstring to a JSON Schema, and from JSON back to what its hints promise."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import json
import re
import sys
import types
import typing
from typing import Any, Callable, Dict, List, Literal, NamedTuple, Optional, Tuple, Union

from ..wire.errors import ConfigError

Schema = Dict[str, Any]
#: Turns a JSON value that fits the schema into what the hint says; None: it is that already.
Convert = Optional[Callable[[Any], Any]]


class Parameter(NamedTuple):
    name: str
    convert: Convert


class Signature(NamedTuple):
    args: Schema
    result: Optional[Schema]
    convert_result: Convert
    description: str
    parameters: List[Parameter]
    #: Takes names that its signature does not list.
    takes_any: bool
    #: Takes the arguments as one value, in a parameter named ``args``.
    takes_whole: bool
    #: The parameter that is given the context.
    context: Optional[str]


_SIMPLE: Dict[Any, Schema] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    Any: {},
    inspect.Parameter.empty: {},
    object: {},
    dict: {"type": "object"},
    list: {"type": "array"},
    tuple: {"type": "array"},
}
_UNIONS = [Union] + ([types.UnionType] if sys.version_info >= (3, 10) else [])  # type: ignore[attr-defined]
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def read_signature(function: Callable[..., Any], is_context: Callable[[str, Any], bool], what: str) -> Signature:
    """Raises ConfigError for hints that say nothing about JSON."""
    try:
        hints = typing.get_type_hints(function)
    except Exception as error:
        raise ConfigError(f"{what}: its type hints cannot be read ({error}); give 'args' and 'result' instead.") from None
    description, notes = read_docstring(inspect.getdoc(function) or "")
    properties: Dict[str, Schema] = {}
    required: List[str] = []
    parameters: List[Parameter] = []
    takes_any = False
    context = None
    listed = list(inspect.signature(function).parameters.values())
    plain = [p for p in listed if not is_context(p.name, hints.get(p.name))]
    takes_whole = len(plain) == 1 and plain[0].name == "args" and plain[0].kind is not plain[0].VAR_POSITIONAL
    for parameter in listed:
        hint = hints.get(parameter.name, parameter.empty)
        if is_context(parameter.name, hint):
            context = parameter.name
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_any = True
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise ConfigError(f"{what}: arguments come by name, so '{parameter.name}' must be a parameter that has one.")
        schema, convert = schema_of(hint, f"{what}: parameter '{parameter.name}'")
        if parameter.name in notes:
            schema = {**schema, "description": notes[parameter.name]}
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif parameter.default is not None and _is_json(parameter.default):
            schema = {**schema, "default": parameter.default}
        properties[parameter.name] = schema
        parameters.append(Parameter(parameter.name, convert))
    if takes_whole:
        args = properties["args"]
    else:
        args = _object(properties, required, None if takes_any else False)
    result, convert_result = None, None
    if "return" in hints:
        schema, convert_result = schema_of(hints["return"], f"{what}: its result")
        result = schema or None
    return Signature(args, result, convert_result, description, parameters, takes_any, takes_whole, context)


def _object(properties: Dict[str, Schema], required: List[str], rest: Optional[bool]) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if rest is not None:
        schema["additionalProperties"] = rest
    return schema


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
        return True
    except (TypeError, ValueError):
        return False


def schema_of(hint: Any, what: str, seen: Tuple[Any, ...] = ()) -> Tuple[Schema, Convert]:
    try:
        if hint in _SIMPLE:
            return dict(_SIMPLE[hint]), None
    except TypeError:
        pass
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in _UNIONS:
        return _union(inner, what, seen)
    if origin is Literal:
        return {"enum": list(inner)}, None
    if str(origin) == "typing.Annotated" or hasattr(hint, "__metadata__"):
        return schema_of(inner[0], what, seen)
    if origin in _LISTS:
        schema, convert = schema_of(inner[0], what, seen)
        return {"type": "array", "items": schema}, _each(convert)
    if origin is tuple:
        return _tuple(inner, what, seen)
    if origin in _DICTS:
        schema, convert = schema_of(inner[1], what, seen)
        mapped = None if convert is None else _mapped(convert)
        return {"type": "object", "additionalProperties": schema}, mapped
    if isinstance(hint, type):
        if hint in seen:
            raise ConfigError(f"{what}: {hint.__name__} holds itself; give 'args' or 'result' as a schema instead.")
        if issubclass(hint, enum.Enum):
            return {"enum": [member.value for member in hint]}, hint
        if dataclasses.is_dataclass(hint):
            return _dataclass(hint, what, (*seen, hint))
        if hasattr(hint, "__required_keys__"):
            return _typed_dict(hint, what, (*seen, hint))
    raise ConfigError(f"{what}: nothing is known about {hint!r} in JSON; give 'args' or 'result' as a schema instead.")


def _each(convert: Convert) -> Convert:
    return None if convert is None else lambda value: [convert(each) for each in value]


def _mapped(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: {key: convert(each) for key, each in value.items()}


def _union(members: Tuple[Any, ...], what: str, seen: Tuple[Any, ...]) -> Tuple[Schema, Convert]:
    parts = [schema_of(member, what, seen) for member in members]
    converts = [convert for _, convert in parts if convert]
    if not all(schema for schema, _ in parts):
        return {}, None
    schemas = [schema for schema, _ in parts]
    if len(converts) > 1:
        raise ConfigError(f"{what}: it cannot be told which of several classes a value is meant to be.")
    names = [schema.get("type") for schema in schemas]
    is_plain = all(len(schema) == 1 and isinstance(name, str) for schema, name in zip(schemas, names))
    schema = {"type": names} if is_plain else {"anyOf": schemas}
    if not converts:
        return schema, None
    # Only None beside the class: anything else would need the schema to tell.
    if len(members) != 2 or type(None) not in members:
        raise ConfigError(f"{what}: a class can only be joined with None.")
    convert = converts[0]
    return schema, lambda value: None if value is None else convert(value)


def _tuple(inner: Tuple[Any, ...], what: str, seen: Tuple[Any, ...]) -> Tuple[Schema, Convert]:
    if len(inner) == 2 and inner[1] is Ellipsis:
        schema, convert = schema_of(inner[0], what, seen)
        return {"type": "array", "items": schema}, lambda value: tuple(convert(v) if convert else v for v in value)
    parts = [schema_of(each, what, seen) for each in inner]
    schema = {
        "type": "array", "prefixItems": [each for each, _ in parts], "items": False, "minItems": len(parts),
    }  # fmt: skip
    converts = [convert for _, convert in parts]
    return schema, lambda value: tuple(convert(v) if convert else v for convert, v in zip(converts, value))


def _dataclass(cls: type, what: str, seen: Tuple[Any, ...]) -> Tuple[Schema, Convert]:
    hints = typing.get_type_hints(cls)
    properties, required = {}, []
    converts: Dict[str, Callable[[Any], Any]] = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        if not field.init:
            continue
        schema, convert = schema_of(hints[field.name], f"{what}, field '{field.name}'", seen)
        has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        if not has_default:
            required.append(field.name)
        elif field.default not in (dataclasses.MISSING, None) and _is_json(field.default):
            schema = {**schema, "default": field.default}
        properties[field.name] = schema
        if convert:
            converts[field.name] = convert

    fields = _fields(converts)
    return _object(properties, required, False), lambda value: cls(**fields(value))


def _typed_dict(cls: Any, what: str, seen: Tuple[Any, ...]) -> Tuple[Schema, Convert]:
    properties, converts = {}, {}
    for name, hint in typing.get_type_hints(cls).items():
        properties[name], convert = schema_of(hint, f"{what}, key '{name}'", seen)
        if convert:
            converts[name] = convert
    return _object(properties, sorted(cls.__required_keys__), False), _fields(converts) if converts else None


def _fields(converts: Dict[str, Callable[[Any], Any]]) -> Callable[[Any], Any]:
    return lambda value: {name: converts[name](each) if name in converts else each for name, each in value.items()}


_PARAM = re.compile(r"^:param\s+(?:\w+\s+)?(\w+):\s*(.*)$")
_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Return|Raises|Yields|Examples?):\s*$")
_ENTRY = re.compile(r"^\s+(\w+)(?:\s*\([^)]*\))?:\s*(.+)$")


def read_docstring(text: str) -> Tuple[str, Dict[str, str]]:
    """The description, and what is said about parameters, as reStructuredText fields or in a section ``Args:``."""
    kept: List[str] = []
    notes: Dict[str, str] = {}
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
