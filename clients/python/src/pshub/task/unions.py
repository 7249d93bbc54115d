"""Unions of hints."""

from __future__ import annotations

from typing import Any, NamedTuple

from .definitions import hoisted
from .misfit import Misfit, misfit_of
from .records import Convert, Described, Place, Schema
from .schema import Validate, compile_own


class _Member(NamedTuple):
    check: Validate
    convert: Convert


def union_of(parts: list[Described], place: Place) -> Described:
    """A value is read as the first of them whose schema it fits, and that takes it."""
    schemas = [schema for schema, _ in parts]
    if not all(schemas):
        return {}, None
    names = [schema.get("type") for schema in schemas]
    is_plain = all(len(schema) == 1 and isinstance(name, str) for schema, name in zip(schemas, names))
    schema: Schema = {"type": names} if is_plain else {"anyOf": schemas}
    if not any(convert for _, convert in parts):
        return schema, None
    if len(parts) == 2 and {"type": "null"} in schemas:
        [convert] = [convert for _, convert in parts if convert]
        return schema, lambda value: None if value is None else convert(value)
    return schema, _first_of([_Member(compile_own(hoisted(schema), place.what), convert) for schema, convert in parts])


def _first_of(members: list[_Member]) -> Convert:
    def read(value: Any) -> Any:
        wrong: Misfit | None = None
        for check, convert in members:
            if check(value):
                continue
            try:
                return convert(value) if convert else value
            except Exception as raised:
                wrong = wrong or misfit_of(raised)
        raise wrong or Misfit("matches no type of its hint")

    return read
