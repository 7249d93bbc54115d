"""Classes of Python that are a text or a number in JSON: their schemas, and how they are read. ``wire/natives.py`` writes them."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import re
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from ..wire.errors import ConfigError
from .misfit import Misfit

Schema = dict[str, Any]
Read = Callable[[Any], Any]

_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6})[0-9]*)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)


def _date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise Misfit("is not a date that Python supports") from None


def _time(text: str) -> datetime.time:
    """Of what fits the format ``time``; more than six digits of a second are cut."""
    parts = _CLOCK.fullmatch(text)
    if parts is None:
        raise Misfit("is not a time with seconds and an offset, such as 09:30:00Z")
    hour, minute, second, fraction, sign, ahead_h, ahead_min = parts.groups()
    if second == "60":
        raise Misfit("is a leap second, which Python does not support")
    offset = datetime.timedelta(hours=int(ahead_h or 0), minutes=int(ahead_min or 0)) * (-1 if sign == "-" else 1)
    micros = int((fraction or "").ljust(6, "0"))
    return datetime.time(int(hour), int(minute), int(second), micros, datetime.timezone(offset) if offset else datetime.timezone.utc)


def _datetime(text: str) -> datetime.datetime:
    if text[10:11] not in ("T", "t"):
        raise Misfit("is not a date and time with an offset, such as 2026-11-24T09:30:00Z")
    return datetime.datetime.combine(_date(text[:10]), _time(text[11:]))


def _timedelta(seconds: float) -> datetime.timedelta:
    try:
        return datetime.timedelta(seconds=seconds)
    except OverflowError:
        raise Misfit("is more seconds than a timedelta holds") from None


def _decimal(text: str) -> decimal.Decimal:
    if not _DECIMAL.fullmatch(text):
        raise Misfit("is not a decimal number, such as 12.50")
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        raise Misfit("is too large for a Decimal") from None


#: A class, its schema, and what reads it.
NATIVES: dict[type, tuple[Schema, Read]] = {
    datetime.datetime: ({"type": "string", "format": "date-time"}, _datetime),
    datetime.date: ({"type": "string", "format": "date"}, _date),
    datetime.time: ({"type": "string", "format": "time"}, _time),
    # The format "duration" has neither fractions of a second nor anything below zero.
    datetime.timedelta: ({"type": "number"}, _timedelta),
    uuid.UUID: ({"type": "string", "format": "uuid"}, uuid.UUID),
    # No format of the protocol's, so that only whoever reads it judges.
    decimal.Decimal: ({"type": "string", "format": "decimal"}, _decimal),
}


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
        return True
    except (TypeError, ValueError):
        return False


def enum_of(cls: type[enum.Enum], what: str) -> tuple[Schema, Read]:
    values = [member.value for member in cls]
    if not values or not all(_is_json(value) for value in values):
        raise ConfigError(f"{what}: the values of {cls.__name__} must be JSON; pass 'args' or 'result' as a schema instead.")
    # As they travel: what is a tuple here comes as a list.
    known = [json.loads(json.dumps(value)) for value in values]
    if known == values:
        return {"enum": values}, cls
    members = list(cls)
    return {"enum": known}, lambda value: members[known.index(value)] if isinstance(value, (list, dict)) else cls(value)


def literal_of(given: Sequence[Any], what: str) -> tuple[Schema, Read | None]:
    values: list[Any] = [each.value if isinstance(each, enum.Enum) else each for each in given]
    if not all(_is_json(value) for value in values):
        raise ConfigError(f"{what}: the values of a Literal must be JSON; pass 'args' or 'result' as a schema instead.")
    if not any(isinstance(each, enum.Enum) for each in given):
        return {"enum": values}, None

    def read(value: Any) -> Any:
        return next((each for each, known in zip(given, values) if known == value and type(known) is type(value)), value)

    return {"enum": values}, read
