"""What a check by a schema found, as it is told to people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..wire.payload import escape_pointer
from .keywords import WORDED

Problem = dict[str, str]

_CHOICES = ("anyOf", "oneOf")
#: Of a choice among more, the first are told.
_MAX_TOLD = 5


def problems_of(error: Any) -> list[Problem]:
    """The pointer names the offending field itself: for a missing or surplus one, the field and not its parent."""
    if error.validator in _CHOICES and error.context:
        return _of_choice(error)
    return [{"pointer": _pointer(error.absolute_path), "message": _describe(error)}]


def _of_choice(error: Any) -> list[Problem]:
    """Of what fits none of several: what is wrong by those that are for a value of its type, if there are such."""
    found: dict[int, list[Any]] = {}
    for each in error.context:
        found.setdefault(each.relative_schema_path[0], []).append(each)
    kinds = [_wrong_kind(each, error) for each in found.values()]
    meant = [each for each, kind in zip(found.values(), kinds) if kind is None]
    pointer = _pointer(error.absolute_path)
    if not meant:
        types = [name for kind in kinds if kind is not None for name in _types_of(kind)]
        return [{"pointer": pointer, "message": f"must be {' or '.join(dict.fromkeys(types))}"}]
    problems = [[problem for each in errors for problem in problems_of(each)] for errors in meant[:_MAX_TOLD]]
    if len(problems) == 1:
        [inner] = problems
        is_told = any(each["pointer"] == pointer for each in inner)
        return inner if is_told else [{"pointer": pointer, "message": "matches none of the alternatives"}, *inner]
    told = list(dict.fromkeys(f"{each[0]['pointer'][len(pointer) :]} {each[0]['message']}".strip() for each in problems))
    more = f", and {len(meant) - _MAX_TOLD} more" if len(meant) > _MAX_TOLD else ""
    return [{"pointer": pointer, "message": f"matches none of the alternatives: {', or '.join(told)}{more}"}]


def _wrong_kind(errors: Sequence[Any], choice: Any) -> Any:
    """The error that says that the value as a whole is of another type."""
    return next((each for each in errors if each.validator == "type" and each.absolute_path == choice.absolute_path), None)


def _types_of(error: Any) -> list[str]:
    value = error.validator_value
    return value if isinstance(value, list) else [value]


def _pointer(path: Sequence[Any]) -> str:
    return "".join(f"/{escape_pointer(step)}" for step in path)


def _describe(error: Any) -> str:
    value = error.validator_value
    if error.validator is None or error.validator == "not":
        return "is not allowed"
    if error.validator in WORDED:
        return str(error.message)
    if error.validator == "type":
        return f"must be {' or '.join(_types_of(error))}"
    if error.validator == "oneOf":
        return "matches more than one of the alternatives"
    if error.validator == "enum":
        return f"must be one of {json.dumps(value, ensure_ascii=False)[1:-1][:200]}"
    if error.validator == "const":
        return f"must be {json.dumps(value, ensure_ascii=False)[:200]}"
    bounds = {
        "minimum": "must be >=", "maximum": "must be <=", "exclusiveMinimum": "must be >", "exclusiveMaximum": "must be <",
        "multipleOf": "must be a multiple of", "pattern": "must match pattern", "format": "must match format",
    }  # fmt: skip
    if error.validator in bounds:
        return f"{bounds[error.validator]} {getattr(value, 'ecma', value)}"
    counts = {
        "minLength": ("least", "character"), "maxLength": ("most", "character"),
        "minItems": ("least", "item"), "maxItems": ("most", "item"),
        "minProperties": ("least", "field"), "maxProperties": ("most", "field"),
    }  # fmt: skip
    if error.validator in counts:
        bound, thing = counts[error.validator]
        return f"must have at {bound} {value} {thing}{'' if value == 1 else 's'}"
    # The library's own text holds the value, which may be large and is nobody else's business.
    return f"fails '{error.validator}'"
