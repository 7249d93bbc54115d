"""
The quick check of a schema. It only ever says "fits" for what surely does: whatever it does not know is left to jsonschema, which is
some thirty times slower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .formats import fits_format

Fits = Callable[[Any], bool]

_IGNORED = {"title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly", "$schema"}


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


_TYPES: dict[str, Fits] = {
    "string": lambda value: type(value) is str,
    "boolean": lambda value: type(value) is bool,
    "null": lambda value: value is None,
    "number": _is_number,
    "integer": lambda value: type(value) is int or (type(value) is float and value.is_integer()),
    "object": lambda value: type(value) is dict,
    "array": lambda value: type(value) is list,
}


def quick_check(schema: Any) -> Fits | None:
    """None for a schema with anything that this does not know."""
    if schema is True or schema == {}:
        return lambda value: True
    if not isinstance(schema, Mapping):
        return None
    checks: list[Fits] = []
    for keyword, given in schema.items():
        if keyword in _IGNORED or keyword in _TOGETHER:
            continue
        maker = _KEYWORDS.get(keyword)
        check = maker(given) if maker else None
        if check is None:
            return None
        checks.append(check)
    if any(keyword in schema for keyword in _TOGETHER):
        fields = _fields(schema)
        if fields is None:
            return None
        checks.append(fields)
    if len(checks) == 1:
        return checks[0]
    return lambda value: all([check(value) for check in checks])


_TOGETHER = {"properties", "required", "additionalProperties"}


def _fields(schema: Mapping[str, Any]) -> Fits | None:
    checks: dict[str, Fits] = {}
    for name, inner in schema.get("properties", {}).items():
        check = quick_check(inner)
        if check is None:
            return None
        checks[name] = check
    required = frozenset(schema.get("required", ()))
    rest = schema.get("additionalProperties", True)
    rest_check = None if rest is False else quick_check(rest)
    if rest is not False and rest_check is None:
        return None

    def fits(value: Any) -> bool:
        if type(value) is not dict:
            return True
        if not required <= value.keys():
            return False
        for name, inner in value.items():
            check = checks.get(name, rest_check)
            if check is None or not check(inner):
                return False
        return True

    return fits


def _type(given: Any) -> Fits | None:
    names = given if isinstance(given, list) else [given]
    checks = [_TYPES[name] for name in names if name in _TYPES]
    if len(checks) != len(names):
        return None
    return checks[0] if len(checks) == 1 else lambda value: any([check(value) for check in checks])


def _items(given: Any) -> Fits | None:
    check = quick_check(given)
    if check is None:
        return None
    return lambda value: type(value) is not list or all(map(check, value))


def _any_of(given: Any) -> Fits | None:
    checks = [quick_check(inner) for inner in given]
    if None in checks:
        return None
    return lambda value: any([check(value) for check in checks if check])


def _enum(given: Any) -> Fits | None:
    # Equality of texts is that of JSON; of numbers and booleans it is not (1 == True).
    if not all(type(each) is str or each is None for each in given):
        return None
    return lambda value: (type(value) is str or value is None) and value in given


def _bound(compare: Callable[[Any, Any], bool]) -> Callable[[Any], Fits | None]:
    return lambda limit: lambda value: not _is_number(value) or compare(value, limit)


def _length(kind: type[str] | type[list[Any]], compare: Callable[[int, int], bool]) -> Callable[[Any], Fits | None]:
    return lambda limit: lambda value: type(value) is not kind or compare(len(value), limit)


_KEYWORDS: dict[str, Callable[[Any], Fits | None]] = {
    "type": _type,
    "items": _items,
    "anyOf": _any_of,
    "enum": _enum,
    "const": lambda given: _enum([given]),
    "format": lambda given: lambda value: fits_format(given, value),
    "minimum": _bound(lambda value, limit: value >= limit),
    "maximum": _bound(lambda value, limit: value <= limit),
    "exclusiveMinimum": _bound(lambda value, limit: value > limit),
    "exclusiveMaximum": _bound(lambda value, limit: value < limit),
    "minLength": _length(str, lambda length, limit: length >= limit),
    "maxLength": _length(str, lambda length, limit: length <= limit),
    "minItems": _length(list, lambda length, limit: length >= limit),
    "maxItems": _length(list, lambda length, limit: length <= limit),
}
