"""Exceptions of any kind, as they are told."""

from __future__ import annotations

from collections.abc import Sequence


def message_of(raised: BaseException) -> str:
    """Any exception as one sentence, a group of them with what the first one says; its own methods may raise in turn."""
    try:
        text = str(raised) or type(raised).__name__
        parts = _parts_of(raised)
        return f"{text}: {message_of(parts[0])}" if parts else text
    except BaseException:
        return f"a {type(raised).__name__} that cannot be shown"


def cause_of(raised: BaseException) -> BaseException:
    """
    What a failure is told as: of a group, as ``asyncio.TaskGroup`` raises one, the only exception in it. Of more than one that is the
    group, which says so.
    """
    inner = _parts_of(raised)
    while inner is not None and len(inner) == 1:
        raised = inner[0]
        inner = _parts_of(raised)
    return raised


def _parts_of(raised: BaseException) -> Sequence[BaseException] | None:
    # Also of the package exceptiongroup, for Pythons that have none.
    is_group = any(each.__name__ == "BaseExceptionGroup" for each in type(raised).__mro__)
    parts = getattr(raised, "exceptions", None) if is_group else None
    return parts if isinstance(parts, Sequence) else None
