"""
The validator of the jsonschema package with keywords of our own: where it points at an object or a list, these point at what is
wrong in it; and where it counts on floats, on ``re`` or on what else happens to be installed, these do as other languages do.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import jsonschema
from jsonschema.exceptions import ValidationError

from .formats import fits_format
from .patterns import translated
from .schema_keywords import OF_MANY, OF_NAMES

Errors = Iterator[ValidationError]

#: Keywords whose errors come with a text of ours.
WORDED = {
    "required", "dependentRequired", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "items", "propertyNames", "uniqueItems",
}  # fmt: skip
#: What is under these is data and no schema.
DATA = {"const", "enum", "default", "examples"}


def _error(message: str, *path: Any) -> ValidationError:
    return ValidationError(message, path=path)


def _required(validator: Any, names: Any, instance: Any, schema: Any) -> Errors:
    if validator.is_type(instance, "object"):
        yield from (_error("is required", name) for name in names if name not in instance)


def _dependent_required(validator: Any, given: Any, instance: Any, schema: Any) -> Errors:
    if validator.is_type(instance, "object"):
        for name, others in given.items():
            if name in instance:
                yield from (_error("is required", other) for other in others if other not in instance)


def _additional_properties(validator: Any, given: Any, instance: Any, schema: Any) -> Errors:
    if not validator.is_type(instance, "object"):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, value in instance.items():
        if name in known or any(re.search(pattern, name) for pattern in patterns):
            continue
        if given is False:
            yield _error("is not a known field", name)
        else:
            yield from validator.descend(value, given, path=name)


def _unevaluated_properties(validator: Any, given: Any, instance: Any, schema: Any) -> Errors:
    if validator.is_type(instance, "object"):
        yield from _unevaluated(validator, given, instance, schema, instance.items(), "is not a known field")


def _unevaluated_items(validator: Any, given: Any, instance: Any, schema: Any) -> Errors:
    if validator.is_type(instance, "array"):
        yield from _unevaluated(validator, given, instance, schema, enumerate(instance), "is not a known item")


def _unevaluated(validator: Any, given: Any, instance: Any, schema: Any, parts: Any, words: str) -> Errors:
    own = {keyword: value for keyword, value in schema.items() if keyword not in _UNEVALUATED}
    seen: set[Any] = set()
    if _look(validator, own, instance, seen):
        return
    for name, value in parts:
        if name in seen:
            continue
        if given is False:
            yield _error(words, name)
        else:
            yield from validator.descend(value, given, path=name)


_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")


def _look(validator: Any, schema: Any, instance: Any, seen: set[Any]) -> bool:
    """Notes the names or places that a schema looks at; True: all of them."""
    if isinstance(schema, bool):
        return False
    if isinstance(instance, dict):
        if "additionalProperties" in schema or "unevaluatedProperties" in schema:
            return True
        patterns = schema.get("patternProperties", {})
        known = schema.get("properties", {})
        seen.update(name for name in instance if name in known or any(re.search(each, name) for each in patterns))
    else:
        if "items" in schema or "unevaluatedItems" in schema:
            return True
        first = len(schema.get("prefixItems", ()))
        seen.update(
            index for index, item in enumerate(instance) if index < first or ("contains" in schema and _fits(validator, schema["contains"], item))
        )
    return any([_look(validator, inner, instance, seen) for inner in _beside(validator, schema, instance)])


def _beside(validator: Any, schema: Any, instance: Any) -> Iterator[Any]:
    """The schemas that look at the same value and count: of a choice those that fit."""
    if "$ref" in schema:
        yield validator._resolver.lookup(schema["$ref"]).contents
    yield from schema.get("allOf", ())
    for inner in [*schema.get("anyOf", ()), *schema.get("oneOf", ())]:
        if _fits(validator, inner, instance):
            yield inner
    if isinstance(instance, dict):
        yield from (inner for name, inner in schema.get("dependentSchemas", {}).items() if name in instance)
    if "if" in schema:
        if _fits(validator, schema["if"], instance):
            yield schema["if"]
            yield schema.get("then", True)
        else:
            yield schema.get("else", True)


def _fits(validator: Any, schema: Any, instance: Any) -> bool:
    return bool(validator.evolve(schema=schema).is_valid(instance))


def _items(validator: Any, given: Any, instance: Any, schema: Any) -> Errors:
    if not validator.is_type(instance, "array"):
        return
    for index in range(len(schema.get("prefixItems", ())), len(instance)):
        if given is False:
            yield _error("is not a known item", index)
        else:
            yield from validator.descend(instance[index], given, path=index)


def _property_names(validator: Any, given: Any, instance: Any, schema: Any) -> Errors:
    if validator.is_type(instance, "object"):
        fitting = validator.evolve(schema=given)
        yield from (_error("is not an allowed name", name) for name in instance if not fitting.is_valid(name))


def _multiple_of(validator: Any, step: Any, instance: Any, schema: Any) -> Errors:
    if validator.is_type(instance, "number") and not _is_multiple(instance, step):
        yield _error("is not a multiple")


def _is_multiple(value: Any, step: Any) -> bool:
    """Of the numbers as they are written: 19.99 is a multiple of 0.01, whatever their binary fractions say."""
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    try:
        return (Fraction(repr(value)) / Fraction(repr(step))).denominator == 1
    except ValueError:
        return False


def _unique_items(validator: Any, given: Any, instance: Any, schema: Any) -> Errors:
    if given and validator.is_type(instance, "array") and len({_identity(item) for item in instance}) < len(instance):
        yield _error("has the same item twice")


def _identity(value: Any) -> Hashable:
    """As JSON sees it: 1 and 1.0 are the same, 1 and true are not."""
    if isinstance(value, dict):
        return ("object", frozenset((name, _identity(inner)) for name, inner in value.items()))
    if isinstance(value, list):
        return ("array", tuple(map(_identity, value)))
    return (isinstance(value, bool), value)


def _format(validator: Any, name: Any, instance: Any, schema: Any) -> Errors:
    if not fits_format(name, instance):
        yield _error("is not of the format")


_OURS: dict[str, Any] = {
    "required": _required,
    "dependentRequired": _dependent_required,
    "additionalProperties": _additional_properties,
    "unevaluatedProperties": _unevaluated_properties,
    "unevaluatedItems": _unevaluated_items,
    "items": _items,
    "propertyNames": _property_names,
    "multipleOf": _multiple_of,
    "uniqueItems": _unique_items,
    "format": _format,
}

SchemaValidator: Any = jsonschema.validators.extend(jsonschema.Draft202012Validator, _OURS)  # type: ignore[no-untyped-call]


#: In the place of ``false``, which jsonschema forgets the path of.
_NOTHING: dict[str, Any] = {"not": {}}


def readable(schema: Any, in_names: bool = False) -> Any:
    """A schema that was read (schema_reading.py), with its patterns and its ``false`` as jsonschema reads them the way they are meant."""
    if isinstance(schema, list):
        return [readable(inner) for inner in schema]
    if not isinstance(schema, Mapping):
        return schema
    out: dict[str, Any] = {}
    for key, inner in schema.items():
        if in_names and inner is False:
            out[key] = _NOTHING
        elif in_names:
            out[key] = readable(inner)
        elif key in OF_MANY:
            out[key] = [_NOTHING if item is False else readable(item) for item in inner]
        elif key == "pattern":
            out[key] = translated(inner)
        elif key == "patternProperties":
            out[key] = {translated(each): _NOTHING if fields is False else readable(fields) for each, fields in inner.items()}
        else:
            out[key] = inner if key in DATA else readable(inner, key in OF_NAMES)
    return out
