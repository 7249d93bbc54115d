"""JSON Schema, draft 2020-12: a quick check for what most tasks declare, and jsonschema for the rest and for what to say."""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, List, Mapping

import jsonschema

from ..wire.errors import ConfigError
from ..wire.payload import escape_pointer
from .quick_check import quick_check

Problem = Dict[str, str]
#: Checks a value as it travels; an empty list says it fits.
Validate = Callable[[Any], List[Problem]]

#: More offending fields than these are not listed.
_MAX_PROBLEMS = 50

#: Bounds for schemas of the registry, which are somebody else's data.
_FOREIGN_CHARS = 65_536
_FOREIGN_DEPTH = 32
_FOREIGN_NODES = 2_000


class UnusableSchema(ValueError):
    """Why a schema of the registry is not used; the worker alone judges then."""


def compile_own(schema: Any, what: str) -> Validate:
    """Raises ConfigError when it is not a valid schema."""
    try:
        if not isinstance(schema, Mapping):
            raise ValueError("it must be an object")
        jsonschema.Draft202012Validator.check_schema(schema)
    except (ValueError, jsonschema.SchemaError) as error:
        reason = getattr(error, "message", str(error))
        raise ConfigError(f"{what} is not a valid JSON Schema (2020-12): {reason}") from None
    return _compile(schema)


def compile_foreign(text: str) -> Validate:
    """
    Compiles a schema of the registry. Nothing here can stop a check that runs long, so a schema whose check could do so is not
    used at all: one that refers to anything, compares each with each, or has a pattern that may backtrack.
    """
    if len(text) > _FOREIGN_CHARS:
        raise UnusableSchema(f"it is longer than {_FOREIGN_CHARS} characters")
    schema = json.loads(text)
    if not isinstance(schema, dict):
        raise UnusableSchema("it is not an object")
    _survey(schema)
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise UnusableSchema(error.message[:200]) from None
    return _compile(schema)


def _compile(schema: Mapping[str, Any]) -> Validate:
    fits = quick_check(schema)
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())

    def check(value: Any) -> List[Problem]:
        if fits is not None and fits(value):
            return []
        problems: List[Problem] = []
        for error in validator.iter_errors(value):
            problems.extend(_problems_of(error))
            if len(problems) >= _MAX_PROBLEMS:
                break
        return problems[:_MAX_PROBLEMS]

    return check


def _problems_of(error: Any) -> List[Problem]:
    """The pointer names the offending field itself: for a missing or surplus one, the field and not its parent."""
    path = "".join(f"/{escape_pointer(step)}" for step in error.absolute_path)
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        # One error comes per missing field; its message begins with the field's name.
        named = [name for name in missing if error.message.startswith(repr(name))] or missing
        return [{"pointer": f"{path}/{escape_pointer(name)}", "message": "is required"} for name in named]
    if error.validator == "additionalProperties" and error.validator_value is False:
        known = error.schema.get("properties", {})
        patterns = error.schema.get("patternProperties", {})
        surplus = [
            name for name in error.instance if name not in known and not any(re.search(p, name) for p in patterns)
        ]
        return [{"pointer": f"{path}/{escape_pointer(name)}", "message": "is not a known field"} for name in surplus]
    return [{"pointer": path, "message": _describe(error)}]


def _describe(error: Any) -> str:
    value = error.validator_value
    if error.validator == "type":
        return f"must be {' or '.join(value) if isinstance(value, list) else value}"
    if error.validator == "enum":
        return f"must be one of {json.dumps(value, ensure_ascii=False)[1:-1][:200]}"
    if error.validator == "const":
        return f"must be {json.dumps(value, ensure_ascii=False)[:200]}"
    bounds = {
        "minimum": "must be >=", "maximum": "must be <=", "exclusiveMinimum": "must be >", "exclusiveMaximum": "must be <",
        "multipleOf": "must be a multiple of", "pattern": "must match pattern", "format": "must match format",
    }  # fmt: skip
    if error.validator in bounds:
        return f"{bounds[error.validator]} {value}"
    counts = {
        "minLength": ("fewer", "characters"), "maxLength": ("more", "characters"),
        "minItems": ("fewer", "items"), "maxItems": ("more", "items"),
        "minProperties": ("fewer", "properties"), "maxProperties": ("more", "properties"),
    }  # fmt: skip
    if error.validator in counts:
        less, things = counts[error.validator]
        return f"must NOT have {less} than {value} {things}"
    # The library's own text holds the value, which may be large and is nobody else's business.
    return f"fails '{error.validator}'"


def _survey(schema: Dict[str, Any]) -> None:
    nodes = 0

    def walk(value: Any, depth: int, in_names: bool) -> None:
        nonlocal nodes
        if not isinstance(value, (dict, list)):
            return
        nodes += 1
        if nodes > _FOREIGN_NODES:
            raise UnusableSchema(f"it has more than {_FOREIGN_NODES} nodes")
        if depth > _FOREIGN_DEPTH:
            raise UnusableSchema(f"it is nested deeper than {_FOREIGN_DEPTH} levels")
        if isinstance(value, list):
            for inner in value:
                walk(inner, depth + 1, False)
            return
        for key, inner in value.items():
            if not in_names:
                _refuse_costly(key, inner)
            walk(inner, depth + 1, not in_names and key in _NAMES)

    walk(schema, 1, False)


#: Keywords whose keys are names of the user's and not keywords.
_NAMES = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}


def _refuse_costly(keyword: str, value: Any) -> None:
    if keyword in ("$ref", "$dynamicRef"):
        raise UnusableSchema(f"it has a {keyword}, which may lead anywhere")
    if keyword == "uniqueItems" and value is True:
        raise UnusableSchema("uniqueItems compares each with each")
    patterns = [value] if keyword == "pattern" else list(value) if keyword == "patternProperties" else []
    for pattern in patterns:
        if not isinstance(pattern, str) or not _is_tame(pattern):
            raise UnusableSchema("it has a pattern that may take long")


def _is_tame(pattern: str) -> bool:
    """True for a pattern whose matching is at worst quadratic: no groups, alternatives or back references, two quantifiers."""
    if len(pattern) > 200 or re.search(r"[(|]|\\[0-9k]", pattern):
        return False
    variable = len(re.findall(r"[*+?]|\{[0-9]+,[0-9]*\}", pattern))
    return variable + (0 if pattern.startswith("^") else 1) <= 2
