"""Values of Python that have no JSON of their own, as they travel: by what they are, whatever a task says of them."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import sys
import uuid
from typing import Any

from .model_form import is_model, written

_MINUTE = datetime.timedelta(minutes=1)
_NO_ZONE = "has no time zone; add one, as in datetime.now(timezone.utc)"


def plain(value: Any) -> Any:
    """
    One step towards JSON: what is in the answer may need the next one. Models of pydantic and structs of msgspec are known by their looks, since
    neither is needed here. Raises TypeError or ValueError for what cannot travel.
    """
    if isinstance(value, enum.Enum):
        return value.value
    if is_model(type(value)):
        return written(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, (datetime.date, datetime.time)):
        return _iso(value)
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            raise ValueError(f"a Decimal that is {value} is not a number")
        return str(value)
    if isinstance(value, (set, frozenset)):
        return _listed(value)
    msgspec = sys.modules.get("msgspec")
    if msgspec is not None and hasattr(type(value), "__struct_fields__"):
        # Its own texts for a Decimal that is no number, and for keys, would hide what is refused.
        return msgspec.to_builtins(value, builtin_types=(decimal.Decimal,))
    raise TypeError(f"a {type(value).__name__} is not JSON")


def has_zone(value: datetime.datetime) -> bool:
    """Whether it is known when that is. NaT of pandas is a datetime too, and none."""
    try:
        return isinstance(value.utcoffset(), datetime.timedelta) and value == value
    except (TypeError, ValueError):
        return False


def plain_keys(value: Any) -> Any:
    """All of a value, with texts in place of the keys that are none. Raises as ``plain`` does, and where two keys are the same text."""
    if isinstance(value, dict):
        refuse_twins(value)
        return {key_text(key): plain_keys(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_keys(inner) for inner in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    return plain_keys(plain(value))


def key_text(key: Any) -> str:
    """A key as it travels."""
    while not (key is None or isinstance(key, (str, int, float))):
        if isinstance(key, (tuple, frozenset)):
            raise TypeError("keys must be strings, or values that convert to one")
        key = plain(key)
        if isinstance(key, dict):
            raise TypeError("keys must be strings, or values that convert to one")
    return key if isinstance(key, str) else json.dumps(key, allow_nan=False)


class TwinKeys(ValueError):
    """Two keys of a dict are the same string in JSON: a reader would keep the value of one of them."""

    def __init__(self, key: str) -> None:
        super().__init__(f"two keys of the dict are the same string in JSON: {key!r}")
        self.key = key


def refuse_twins(value: dict[Any, Any]) -> None:
    """Raises TwinKeys for ``{1: ..., "1": ...}``."""
    types = set(map(type, value))
    if types <= {str} or types == {int}:
        return
    texts: set[str] = set()
    for key in value:
        text = key_text(key)
        if text in texts:
            raise TwinKeys(text)
        texts.add(text)


def refuse_all_twins(value: Any) -> None:
    """The same of all dicts in a value, and of nothing else: large payloads with numbers as keys are common."""
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            refuse_twins(part)
            left.extend(part.values())
        elif isinstance(part, (list, tuple)):
            left.extend(part)
        elif not (part is None or isinstance(part, (str, int, float))):
            left.append(plain(part))


def _iso(value: Any) -> str:
    """RFC 3339, as the formats of JSON Schema have it."""
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value.isoformat()
    offset = value.utcoffset()
    if offset is None:
        raise ValueError(f"a {type(value).__name__} that {_NO_ZONE}")
    if isinstance(value, datetime.datetime) and offset % _MINUTE:
        # Zones of before there were zones have seconds, which no text has.
        value = value.astimezone(datetime.timezone.utc)
    text: str = value.isoformat()
    return f"{text[:-6]}Z" if text.endswith("+00:00") else text


def _listed(value: Any) -> list[Any]:
    """Always in the same order: what is unique by its arguments is told by their text."""
    try:
        return sorted(value)
    except TypeError:
        return sorted(value, key=repr)
