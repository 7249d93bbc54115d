"""
Models of pydantic (2) and structs of msgspec as hints. Neither is needed: what is one can only be there where its package is, and is known
by its looks. Their own schemas are published, wider where these say less than they take; they check what came and make instances of it.
"""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Callable
from typing import Any

from ..wire.errors import ConfigError
from ..wire.model_form import is_model
from ..wire.payload import escape_pointer, published
from .definitions import with_definitions
from .misfit import Misfit
from .model_schema import model_schema, widened, with_local
from .records import Described, Place, Schema


def model_of(hint: Any, place: Place) -> Described | None:
    """None for what is no such class. Raises ConfigError for one of which its package makes no schema."""
    if is_model(hint):
        return _pydantic(hint, place)
    msgspec = sys.modules.get("msgspec")
    cls = typing.get_origin(hint) or hint
    if msgspec is not None and isinstance(cls, type) and hasattr(cls, "__struct_fields__"):
        return _struct(hint, msgspec, place)
    return None


def _schema(make: Callable[[], Schema], cls: Any, place: Place) -> Schema:
    try:
        return with_definitions(make())
    except ConfigError:
        raise
    except Exception as error:
        told = str(error).partition("\n")[0]
        raise ConfigError(f"{place.what}: {cls!r} has no JSON Schema ({told}); pass 'args' or 'result' as a schema instead.") from error


def _pydantic(cls: Any, place: Place) -> Described:
    schema = _schema(lambda: model_schema(cls, place), cls, place)
    pydantic: Any = sys.modules["pydantic"]

    def read(value: Any) -> Any:
        try:
            # As JSON: a strict model takes a moment that is a text from there, and not from Python.
            return cls.__pydantic_validator__.validate_json(published(value))
        except pydantic.ValidationError as error:
            raise _misfit([(_path(value, each["loc"], each["type"] == "missing"), each["msg"]) for each in error.errors()]) from None

    return schema, read


#: Of msgspec.inspect: keys of these come back from a text.
_AS_KEY = (
    "AnyType", "StrType", "IntType", "FloatType", "DecimalType", "BytesType", "DateTimeType", "DateType", "TimeType", "TimeDeltaType", "UUIDType",
    "EnumType", "LiteralType",
)  # fmt: skip


def _refuse_keys(part: Any, place: Place, seen: list[Any]) -> None:
    if isinstance(part, tuple):
        for inner in part:
            _refuse_keys(inner, place, seen)
    if not hasattr(part, "__struct_fields__") or any(part is each for each in seen):
        return
    seen.append(part)
    key = getattr(part, "key_type", None)
    if key is not None and type(key).__name__ not in _AS_KEY:
        told = "the keys of an object must be strings, and msgspec does not write these as strings; use a list of pairs"
        raise ConfigError(f"{place.what}: {told}. Or pass 'args' or 'result' as a schema instead.")
    for name in part.__struct_fields__:
        _refuse_keys(getattr(part, name), place, seen)


_AT = re.compile(r" - at `(?:key in )?\$(.*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[([0-9]+)\]|\[\.\.\.\]")
#: What it says for whichever key of a dict.
_SOME_KEY = "[...]"
_MISSING = re.compile("missing required field `(.+?)`")


def _struct(hint: Any, msgspec: Any, place: Place) -> Described:
    schema = _schema(lambda: with_local(widened(msgspec.json.schema(hint))), hint, place)
    _refuse_keys(msgspec.inspect.type_info(hint), place, [])

    def read(value: Any) -> Any:
        try:
            return msgspec.convert(value, hint, str_keys=True)
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
    problems = [{"pointer": "".join(f"/{escape_pointer(step)}" for step in steps), "message": f"is rejected: {message}"} for steps, message in found]
    return Misfit("", problems)
