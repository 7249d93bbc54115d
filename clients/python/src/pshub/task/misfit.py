"""A value that fits its schema, and that the hint beside it takes no further."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..wire.payload import escape_pointer
from ..wire.raised import message_of

_MAX_MESSAGE_LENGTH = 200


class Misfit(ValueError):
    """Has what is wrong, field by field, as a check by the schema has it: JSON Pointers and what is said of these."""

    def __init__(self, message: str, problems: list[dict[str, str]] | None = None) -> None:
        super().__init__(message)
        self.problems = [{"pointer": "", "message": message}] if problems is None else problems

    def __str__(self) -> str:
        return "; ".join(f"{each['pointer']} {each['message']}".strip() for each in self.problems)

    def under(self, step: Any) -> Misfit:
        """The same, of what lies there in something larger."""
        before = f"/{escape_pointer(step)}"
        return Misfit(str(self), [{**each, "pointer": before + each["pointer"]} for each in self.problems])


def misfit_of(raised: Exception) -> Misfit:
    """What a class or a validator raised when it was given the value."""
    return raised if isinstance(raised, Misfit) else Misfit(f"is rejected: {message_of(raised)[:_MAX_MESSAGE_LENGTH]}")


def read_at(step: Any, read: Callable[[Any], Any], value: Any) -> Any:
    """Reads what lies at ``step`` of something larger. Raises Misfit, which names the place."""
    try:
        return read(value)
    except Exception as raised:
        raise misfit_of(raised).under(step) from raised


def read_whole(read: Callable[[Any], Any], value: Any) -> Any:
    """The same of all that there is."""
    try:
        return read(value)
    except Exception as raised:
        raise misfit_of(raised) from raised
