"""
Schemas that others made, with ``$defs``, as part of a larger one. What is defined there is put where it is meant, because hubs use no schema of
others that refers to anything; only what holds itself stays a definition, of the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .keywords import DATA
from .schema_keywords import OF_NAMES

Schema = dict[str, Any]
_HERE = "#/$defs/"


def with_definitions(schema: Schema) -> Schema:
    """The same with its definitions in their places; ``$defs`` has what is left."""
    definitions: dict[str, Schema] = schema.get("$defs", {})
    endless = {name for name in definitions if name in _reached(name, definitions)}

    def put(part: Schema) -> Schema:
        reference = part.get("$ref")
        name = reference[len(_HERE) :] if isinstance(reference, str) and reference.startswith(_HERE) else None
        # OpenAPI's, and it names the definitions.
        rest = {keyword: value for keyword, value in part.items() if keyword not in ("discriminator", "$defs")}
        if name in definitions and name not in endless:
            rest.pop("$ref")
            return put({**definitions[name], **rest})
        return rest

    whole = rewritten(schema, put)
    return {**whole, "$defs": {name: rewritten(definitions[name], put) for name in sorted(endless)}} if endless else whole


def hoisted(schema: Schema) -> Schema:
    """A schema made of parts, some of which brought definitions: these are the whole one's. Different ones of one name get other names."""
    found: dict[str, Schema] = {}

    def lift(part: Schema) -> Schema:
        if "$defs" not in part:
            return part
        names = {name: _free_name(name, inner, found) for name, inner in part["$defs"].items()}

        def rename(inner: Schema) -> Schema:
            reference = inner.get("$ref")
            if isinstance(reference, str) and reference[len(_HERE) :] in names:
                return {**inner, "$ref": _HERE + names[reference[len(_HERE) :]]}
            return inner

        for name, inner in part["$defs"].items():
            found[names[name]] = rewritten(inner, rename)
        renamed: Schema = rewritten({keyword: value for keyword, value in part.items() if keyword != "$defs"}, rename)
        return renamed

    whole = rewritten(schema, lift)
    return {**whole, "$defs": found} if found else whole


def _free_name(name: str, schema: Schema, found: dict[str, Schema]) -> str:
    free, count = name, 1
    while free in found and found[free] != schema:
        count += 1
        free = f"{name}_{count}"
    return free


def _reached(name: str, definitions: dict[str, Schema]) -> set[str]:
    """All that a definition leads to."""
    reached: set[str] = set()
    open_ends = [name]

    def look(part: Schema) -> Schema:
        reference = part.get("$ref")
        if isinstance(reference, str) and reference.startswith(_HERE) and reference[len(_HERE) :] not in reached:
            reached.add(reference[len(_HERE) :])
            open_ends.append(reference[len(_HERE) :])
        return part

    while open_ends:
        rewritten(definitions.get(open_ends.pop(), {}), look)
    return reached


def rewritten(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """A schema with ``change`` made of each schema in it, from the outside in."""
    if isinstance(schema, list):
        return [rewritten(inner, change) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    changed = change(schema)
    return {
        keyword: value
        if keyword in DATA
        else {name: rewritten(inner, change) for name, inner in value.items()}
        if keyword in OF_NAMES and isinstance(value, dict)
        else rewritten(value, change)
        for keyword, value in changed.items()
    }
