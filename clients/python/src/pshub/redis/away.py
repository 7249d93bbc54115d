"""A Redis that cannot be reached or denies access, in a sentence with what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..figures.events import Events
from .refusals import explained, is_about_rights
from .target import RedisTarget, describe_target


def away_text(target: RedisTarget, reason: str) -> str:
    how = "denies access" if is_about_rights(reason) else "could not be reached"
    return f"Redis at {describe_target(target)} {how}: {explained(reason)}; set --redis or PSHUB_REDIS."


def watch_redis(events: Events, target: RedisTarget) -> Callable[[], str | None]:
    """Follows the connection that carries commands. What it returns says that it is away, and why; None while it is up."""
    away: list[str | None] = ["no answer in time"]

    def follow(reason: str | None, event: dict[str, Any]) -> None:
        if event["role"].endswith(" commands"):
            away[0] = reason

    events.on("redis:up", lambda event: follow(None, event))
    events.on("redis:down", lambda event: follow(event["reason"], event))
    return lambda: None if away[0] is None else away_text(target, away[0])
