"""How far the handler of a call is, as that says it."""

from __future__ import annotations

from typing import Any

from ..figures.events import Events
from ..wire.raised import message_of
from ..wire.streams import Asked, OnProgress
from .call import Outgoing


def listen(out: Outgoing, on_progress: OnProgress | None, events: Events) -> None:
    """Asks for progress along with a call, where somebody wants to hear it."""
    if on_progress is not None:
        out.asked = Asked(0, True)
        out.on_part = lambda part: tell(out, on_progress, part, events)


def tell(out: Outgoing | None, on_progress: OnProgress | None, part: dict[str, Any], events: Events) -> None:
    """In the context of its call. One that raises hurts nobody: it is told of as a ``problem``."""
    if out is None or on_progress is None or "progress" not in part:
        return
    try:
        out.context.copy().run(on_progress, part["progress"])
    except Exception as error:
        events.emit("problem", where="on_progress", reason=message_of(error))
