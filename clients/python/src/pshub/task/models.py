"""
Models of pydantic (2) and structs of msgspec as hints. Neither is needed: what is one can only be there where its package is, and is known
by its looks. Their own schemas are published, and they check what came and make instances of it.
"""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Callable
from typing import Any

from ..wire.errors import ConfigError
from ..wire.payload import escape_pointer, published
from .definitions import with_definitions
from .misfit import Misfit
from .records import Described, Place, Schema


def model_of(hint: Any, place: Place) -> Described | None:
    """None for what is no such class. Raises ConfigError for one of which its package makes no schema."""
    if isinstance(hint, type) and callable(getattr(hint, "model_json_schema", None)) and hasattr(hint, "model_validate_json"):
        return _pydantic(hint, place)
    msgspec = sys.modules.get("msgspec")
    cls = typing.get_origin(hint) or hint
    if msgspec is not None and isinstance(cls, type) and hasattr(cls, "__struct_fields__"):
        return _struct(hint, msgspec, place)
    return None


def _schema(make: Callable[[], Schema], cls: Any, place: Place) -> Schema:
    try:
        return with_definitions(make())
    except Exception as error:
        told = str(error).partition("\n")[0]
        raise ConfigError(f"{place.what}: {cls!r} has no JSON Schema ({told}); give 'args' or 'result' as a schema instead.") from error


def _pydantic(cls: Any, place: Place) -> Described:
    mode = "serialization" if place.is_result else "validation"
    schema = _schema(lambda: cls.model_json_schema(mode=mode), cls, place)
    pydantic: Any = sys.modules["pydantic"]

    def read(value: Any) -> Any:
        try:
            # As JSON: a strict model takes a moment that is a text from there, and not from Python.
            return cls.model_validate_json(published(value))
        except pydantic.ValidationError as error:
            raise _misfit([(_path(value, each["loc"], each["type"] == "missing"), each["msg"]) for each in error.errors()]) from None

    return schema, read


_AT = re.compile(r" - at `(?:key in )?\$(.*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[([0-9]+)\]|\[\.\.\.\]")
#: What it says for whichever key of a dict.
_SOME_KEY = "[...]"
_MISSING = re.compile("missing required field `(.+?)`")


def _struct(hint: Any, msgspec: Any, place: Place) -> Described:
    schema = _schema(lambda: msgspec.json.schema(hint), hint, place)

    def read(value: Any) -> Any:
        try:
            return msgspec.convert(value, hint)
        except msgspec.ValidationError as error:
            text = str(error)
            at, missing = _AT.search(text), _MISSING.search(text)
            steps, is_whole = _steps(at[1]) if at else ([], True)
            if missing and is_whole:
                steps.append(missing[1])
            raise _misfit([(steps, _AT.sub("", text))]) from None

    return schema, read


def _steps(text: str) -> tuple[list[Any], bool]:
    """Up to a dict whose key is not told: what follows lies somewhere in there. Whether these are all."""
    steps: list[Any] = []
    for step in _STEP.finditer(text):
        if step[0] == _SOME_KEY:
            return steps, False
        steps.append(step[1] or int(step[2]))
    return steps, True


def _path(value: Any, place: tuple[Any, ...], is_missing: bool) -> list[Any]:
    """What of it leads through the value: pydantic names the members of unions, too."""
    steps: list[Any] = []
    for at, step in enumerate(place):
        if (isinstance(value, dict) and step in value) or (isinstance(value, list) and isinstance(step, int) and step < len(value)):
            value = value[step]
            steps.append(step)
        elif is_missing and at == len(place) - 1:
            steps.append(step)
    return steps


def _misfit(found: list[tuple[list[Any], str]]) -> Misfit:
    problems = [{"pointer": "".join(f"/{escape_pointer(step)}" for step in steps), "message": f"is refused: {message}"} for steps, message in found]
    return Misfit("", problems)
