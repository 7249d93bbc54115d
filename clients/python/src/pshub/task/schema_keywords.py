"""
What may stand under each keyword (PROTOCOL.md, section 9.3). The clients of all languages have this table, with the same words: a schema is
rejected by all of them or by none, and no validator is ever given a keyword that it alone knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from .formats import fits_format

#: What is wrong with a keyword's value, and what to write instead; None: nothing.
Rule = Callable[[Any], "str | None"]

#: Keywords whose values are one schema, lists of schemas, and schemas by name.
OF_ONE = {
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties",
}  # fmt: skip
OF_MANY = {"allOf", "anyOf", "oneOf", "prefixItems"}
OF_NAMES = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}

_DRAFT = re.compile(r"https?://json-schema\.org/(draft-0[467]/schema|draft/(2019-09|2020-12)/schema)#?")
#: Drafts in which a reference hides what stands beside it.
HIDES_BESIDE = re.compile(r"https?://json-schema\.org/draft-0[467]/")
_TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"]


def _must(test: Callable[[Any], bool], words: str) -> Rule:
    return lambda value: None if test(value) else f"must be {words}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _is_type(value: Any) -> bool:
    return isinstance(value, str) and value in _TYPES


def _type(value: Any) -> str | None:
    if _is_type(value) or (value and _are_names(value) and all(map(_is_type, value))):
        return None
    advice = ""
    if value == "any":
        advice = "; leave 'type' out to allow any value"
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        advice = "; use 'anyOf' for a choice of schemas"
    return f"must be one of {', '.join(_TYPES)}, or a list of different ones{advice}"


def _required(value: Any) -> str | None:
    if _are_names(value):
        return None
    advice = "; name the field under the 'required' of the object that has it" if isinstance(value, bool) else ""
    return f"must be a list of different names{advice}"


def _exclusive(plain: str) -> Rule:
    """A bound was true or false in draft 4."""
    return _must(_is_number, f"a number; instead of true, pass the number of '{plain}'")


def _id(value: Any) -> str | None:
    if isinstance(value, str) and value.startswith("#"):
        return "must not begin with #; use '$anchor', without the #"
    return None if isinstance(value, str) and fits_format("uri-reference", value) else "must be a URI reference (RFC 3986)"


def _items(value: Any) -> str | None:
    return "must be one schema; use 'prefixItems' for a list, and 'items' for what follows" if isinstance(value, list) else None


def _nullable(value: Any) -> str | None:
    return "is of OpenAPI 3.0; add \"null\" to 'type', or to 'anyOf'" if value is True else None


def _never(words: str) -> Rule:
    return lambda value: words


def _anything(value: Any) -> None:
    return None


_TEXT = _must(_is_text, "a string")
_BOOLEAN = _must(lambda value: isinstance(value, bool), "true or false")
_NUMBER = _must(_is_number, "a number")
_COUNT = _must(_is_count, "a whole number of at least 0")

_CHECKS: dict[str, Rule] = {
    **dict.fromkeys(OF_ONE, _anything),
    "items": _items,
    **{name: _must(lambda value: isinstance(value, list) and bool(value), "a list of at least one schema") for name in OF_MANY},
    **{name: _must(lambda value: isinstance(value, Mapping), "an object of schemas") for name in OF_NAMES},
    "type": _type,
    "enum": _must(lambda value: isinstance(value, list) and bool(value), "a list of at least one value"),
    "const": _anything,
    "required": _required,
    "dependentRequired": _must(
        lambda value: isinstance(value, Mapping) and all(map(_are_names, value.values())), "an object of lists of different names"
    ),
    "minimum": _NUMBER,
    "maximum": _NUMBER,
    "exclusiveMinimum": _exclusive("minimum"),
    "exclusiveMaximum": _exclusive("maximum"),
    "multipleOf": _must(lambda value: _is_number(value) and value > 0, "a number above 0"),
    "uniqueItems": _BOOLEAN,
    "pattern": _TEXT,
    "format": _TEXT,
    "$ref": _TEXT,
    **{f"{end}{name}": _COUNT for name in ("Length", "Items", "Properties", "Contains") for end in ("min", "max")},
}

#: Keywords that are handed to a validator; all others are notes.
CHECKED = frozenset(_CHECKS)

_NOTES: dict[str, Rule] = {
    **dict.fromkeys(("title", "description", "$comment", "contentEncoding", "contentMediaType", "$anchor", "$dynamicAnchor"), _TEXT),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly"), _BOOLEAN),
    "examples": _must(lambda value: isinstance(value, list), "a list"),
    "$id": _id,
    "$schema": _must(
        lambda value: isinstance(value, str) and _DRAFT.fullmatch(value) is not None,
        "the address of draft 4, 6, 7, 2019-09 or 2020-12; leave it out, or write https://json-schema.org/draft/2020-12/schema",
    ),
}

#: What some validator understands, or an older draft did: it would hold in one language, and say nothing in another.
_REFUSED: dict[str, Rule] = {
    "$async": _never("is an extension of ajv; leave it out, and run slow checks in the handler"),
    "$dynamicRef": _never("is not supported; use '$ref'"),
    "$recursiveRef": _never("is not supported; use '$ref'"),
    "dependencies": _never("is of an older draft; use 'dependentRequired' or 'dependentSchemas'"),
    "divisibleBy": _never("is of an older draft; use 'multipleOf'"),
    "extends": _never("is of an older draft; use 'allOf'"),
    "disallow": _never("is of an older draft; use 'not'"),
    "nullable": _nullable,
}

_RULES = {**_CHECKS, **_NOTES, **_REFUSED}


def wrong_keyword(keyword: str, value: Any) -> str | None:
    """What is wrong with this keyword of a schema; None: nothing, or nobody knows the keyword."""
    rule = _RULES.get(keyword)
    words = rule(value) if rule else None
    if words is not None and isinstance(value, Mapping) and "$data" in value:
        return f"{words}; '$data' is an extension of ajv"
    return words
