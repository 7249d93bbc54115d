"""
What is in Redis was written by others, and may be anything. Readers of the registry take out of it, by these checks, what they know
and nothing else; so what a stranger adds costs nobody anything. PROTOCOL.md, section 11.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from .payload import nests_deeper_than

#: Longest card of a task, and longest of all other records, in characters. No worker writes longer ones.
MAX_CARD_LENGTH = 262_144
MAX_RECORD_LENGTH = 1_048_576
#: Deeper than any schema that is used.
_MAX_NESTING = 1024
_TOO_DEEP = f"it is nested deeper than {_MAX_NESTING} levels"
_MAX_UTF8_BYTES = 4
#: Longer than any valid name, so that a name that is not valid can be shown as it is.
_MAX_NAME_LENGTH = 256
_MAX_COUNT = 2**40
#: Later than this no date can be made of milliseconds, in any language.
LATEST_MS = 8.64e15
#: Python reads integers of any length, at a cost that grows with its square.
_MAX_DIGITS = 310


class Unreadable(ValueError):
    """A record that cannot be read counts as absent."""


class UnreadableRecord(NamedTuple):
    """Something in Redis that is not what its key is for, and counts as absent."""

    key: str
    #: Of a hash; None where the key as a whole is meant.
    field: str | None
    reason: str


Note = Callable[[UnreadableRecord], None]


def _refused(_: str) -> Any:
    raise ValueError


def _integer(text: str) -> Any:
    return int(text) if len(text) <= _MAX_DIGITS else float(text)


_decode = json.JSONDecoder(parse_constant=_refused, parse_int=_integer).decode


def object_of(raw: bytes, max_length: int) -> dict[str, Any]:
    """Raises Unreadable for what is no JSON object, longer than ``max_length`` characters or nested too deeply."""
    text = raw.decode("utf-8", "replace") if len(raw) <= max_length * _MAX_UTF8_BYTES else None
    if text is None or len(text) > max_length:
        raise Unreadable(f"it is longer than {max_length} characters")
    if nests_deeper_than(text, _MAX_NESTING):
        raise Unreadable(_TOO_DEEP)
    try:
        value = _decode(text)
    except RecursionError:
        # Some versions of Python read a little less.
        raise Unreadable(_TOO_DEEP) from None
    except ValueError:
        raise Unreadable("it is not JSON") from None
    if not isinstance(value, dict):
        raise Unreadable("it is not a JSON object")
    return value


def is_amount(value: Any, most: float = sys.float_info.max) -> bool:
    """A number of something that can be measured."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= most


def is_limit(value: Any) -> bool:
    return is_amount(value) and value > 0


def is_count(value: Any, most: float = _MAX_COUNT) -> bool:
    """A number of things."""
    return is_amount(value, most) and value == int(value)


def is_moment(value: Any) -> bool:
    """Milliseconds since 1970."""
    return is_amount(value, LATEST_MS)


def text_of(value: Any, max_length: int) -> str:
    """What is no text counts as an empty one, and a longer one is cut."""
    return value[:max_length] if isinstance(value, str) else ""


def name_of(record: dict[str, Any], member: str) -> str:
    """A name that keys and lists are made of. Raises Unreadable."""
    name = record.get(member)
    if isinstance(name, str) and 0 < len(name) <= _MAX_NAME_LENGTH:
        return name
    raise Unreadable(f"its {member} is not a string of 1 to {_MAX_NAME_LENGTH} characters")
