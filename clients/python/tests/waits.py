"""How tests wait: for a condition, and now and then for real time to pass."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

#: Long, because it costs nothing when things go well, and a busy machine may need it.
PATIENCE_S = 60.0
_STEP_S = 0.01


def eventually(look: Callable[[], Any], what: str = "it") -> Any:
    """Returns the first truthy value that ``look`` returns."""
    end = time.monotonic() + PATIENCE_S
    while not (found := look()):
        _check(end, what)
        time.sleep(_STEP_S)
    return found


async def aeventually(look: Callable[[], Any], what: str = "it") -> Any:
    """The same, without blocking the event loop."""
    end = time.monotonic() + PATIENCE_S
    while not (found := look()):
        _check(end, what)
        await asyncio.sleep(_STEP_S)
    return found


def _check(end: float, what: str) -> None:
    if time.monotonic() > end:
        raise AssertionError(f"{what} did not happen within {PATIENCE_S:g} s")


def delay(seconds: float, why: str) -> None:
    """A deliberate wait. ``why`` says which real time passes and why no event can be awaited instead."""
    time.sleep(seconds)


async def adelay(seconds: float, why: str) -> None:
    """The same, without blocking the event loop."""
    await asyncio.sleep(seconds)
