"""What a setting is, and what values are right."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple


class Setting(NamedTuple):
    users: tuple[str, ...]
    env: str
    fallback: Any
    parse: Callable[[str], Any]
    check: Callable[[Any], str | None]
    #: The environment speaks of milliseconds where this package speaks of seconds.
    env_factor: float = 1


def digits(text: str) -> int:
    """Of a text: int() takes spaces, signs and underscores as well."""
    if re.fullmatch("[0-9]+", text) is None:
        raise ValueError(text)
    return int(text)


def integer(low: int, high: int) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return None if fits else f"must be a whole number from {low} to {high}"

    return check


def none_or(check: Callable[[Any], str | None]) -> Callable[[Any], str | None]:
    return lambda value: None if value is None else check(value)


def seconds(low: float, high: float) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
        return None if fits else f"must be a number of seconds from {low:g} to {high:g}"

    return check


def text_of_length(low: int, high: int) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        fits = isinstance(value, str) and low <= len(value) <= high
        return None if fits else f"must be a string of {low} to {high} characters"

    return check
