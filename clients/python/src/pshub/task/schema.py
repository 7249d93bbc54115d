"""JSON Schema, draft 2020-12: a quick check for what most tasks declare, and jsonschema for the rest and for what to say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import referencing

from ..wire.errors import ConfigError
from ..wire.payload import PayloadProblem, compact, encode_payload
from .keywords import SchemaValidator, readable
from .quick_check import quick_check
from .schema_keywords import OF_NAMES
from .schema_problems import Problem, problems_of
from .schema_reading import SchemaProblem, read_schema

#: Checks a value as it travels; an empty list says it fits.
Validate = Callable[[Any], list[Problem]]

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
            raise UnusableSchema("it must be an object")
        # What is JSON by itself, without what payloads may have beside it.
        compact(schema)
        return _compile(json.loads(encode_payload(schema)))
    except PayloadProblem as error:
        told = ": ".join(filter(None, error.problem.values()))
        raise ConfigError(f"{what} is not a valid JSON Schema (2020-12): {told}") from None
    except (TypeError, ValueError, RecursionError, UnusableSchema) as error:
        raise ConfigError(f"{what} is not a valid JSON Schema (2020-12): {error}") from None


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
    _refuse_proto(schema)
    return _compile(schema)


def _compile(schema: Mapping[str, Any]) -> Validate:
    """Raises UnusableSchema, so that checking meets no surprise."""
    try:
        read = read_schema(schema)
        meant = readable(read)
        # Its references lead to places within it: nothing is fetched.
        validator = SchemaValidator(meant, registry=referencing.Registry())
        fits = quick_check(read)
    except SchemaProblem as error:
        raise UnusableSchema(str(error)) from None
    except RecursionError:
        raise UnusableSchema("it is nested too deep") from None

    def check(value: Any) -> list[Problem]:
        if fits is not None and fits(value):
            return []
        problems: list[Problem] = []
        for error in validator.iter_errors(value):
            problems += problems_of(error)
            if len(problems) >= _MAX_PROBLEMS:
                break
        return problems[:_MAX_PROBLEMS]

    return check


def _refuse_proto(value: Any) -> None:
    if isinstance(value, Mapping):
        if "__proto__" in value:
            raise UnusableSchema("it has a key named __proto__")
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            _refuse_proto(inner)


def _survey(schema: dict[str, Any]) -> None:
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
            walk(inner, depth + 1, not in_names and key in OF_NAMES)

    walk(schema, 1, False)


def _refuse_costly(keyword: str, value: Any) -> None:
    if keyword in ("$ref", "$dynamicRef"):
        raise UnusableSchema(f"it has a {keyword}, which cannot be resolved here")
    if keyword == "uniqueItems" and value is True:
        raise UnusableSchema("uniqueItems compares every pair of items")
    patterns = [value] if keyword == "pattern" else list(value) if keyword == "patternProperties" and isinstance(value, dict) else []
    for pattern in patterns:
        if not isinstance(pattern, str) or not _is_tame(pattern):
            raise UnusableSchema("it has a pattern that may be too slow")


def _is_tame(pattern: str) -> bool:
    """True for a pattern whose matching is at worst quadratic: no groups, alternatives or back references, two quantifiers."""
    if len(pattern) > 200 or re.search(r"[(|]|\\[0-9k]", pattern):
        return False
    variable = len(re.findall(r"[*+?]|\{[0-9]+,[0-9]*\}", pattern))
    return variable + (0 if pattern.startswith("^") else 1) <= 2
