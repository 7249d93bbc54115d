"""What a setting is, and what values are right."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional, Tuple


class Setting(NamedTuple):
    users: Tuple[str, ...]
    env: str
    fallback: Any
    parse: Callable[[str], Any]
    check: Callable[[Any], Optional[str]]
    #: The environment speaks of milliseconds where this package speaks of seconds.
    env_factor: float = 1


def integer(low: int, high: int) -> Callable[[Any], Optional[str]]:
    def check(value: Any) -> Optional[str]:
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return None if fits else f"must be a whole number from {low} to {high}"

    return check


def none_or(check: Callable[[Any], Optional[str]]) -> Callable[[Any], Optional[str]]:
    return lambda value: None if value is None else check(value)


def seconds(low: float, high: float) -> Callable[[Any], Optional[str]]:
    def check(value: Any) -> Optional[str]:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
        return None if fits else f"must be a number of seconds from {low:g} to {high:g}"

    return check


def text_of_length(low: int, high: int) -> Callable[[Any], Optional[str]]:
    def check(value: Any) -> Optional[str]:
        fits = isinstance(value, str) and low <= len(value) <= high
        return None if fits else f"must be a text of {low} to {high} characters"

    return check
