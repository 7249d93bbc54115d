"""The moon worker, in Python. Started as ``pshub-worker-py examples.demo.moon.tasks --queue moon``."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Literal, Optional, TypedDict

from pshub import Context, TaskError, task

from .phases import elongation, last_new_moon, lit_part, next_full_moon, next_new_moon, phase_name


class Phase(TypedDict):
    at: str
    phase: str
    litPart: float
    ageDays: float
    nextNewMoon: str
    nextFullMoon: str


class MoonTonight(Phase):
    litSide: Literal["right", "left", "lower"]


def _instant(text: Optional[str]) -> datetime:
    if text is None:
        return datetime.now(timezone.utc)
    try:
        # Before Python 3.11 a Z was not understood.
        at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise TaskError(f"{text} is not an instant like 2024-01-25T18:00:00Z.") from None
    if not 1900 <= at.year <= 2100:
        raise TaskError("The formulas are good for the years from 1900 to 2100.")
    return at.astimezone(timezone.utc) if at.tzinfo else at.replace(tzinfo=timezone.utc)


def _iso(at: datetime) -> str:
    return at.replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _phase(at: datetime) -> Phase:
    return {
        "at": _iso(at),
        "phase": phase_name(at),
        "litPart": round(lit_part(at), 3),
        "ageDays": round((at - last_new_moon(at)) / timedelta(days=1), 1),
        "nextNewMoon": _iso(next_new_moon(at)),
        "nextFullMoon": _iso(next_full_moon(at)),
    }


def _midnight(at: datetime, longitude: float) -> datetime:
    """When the sun is lowest there next, to some minutes."""
    hours = at.hour + at.minute / 60 + longitude / 15
    return at + timedelta(hours=math.ceil(hours / 24) * 24 - hours)


def _lit_side(at: datetime, latitude: float) -> Literal["right", "left", "lower"]:
    """As it is seen when it stands highest; within the tropics that is overhead, and it rises and sets lying on its back."""
    if abs(latitude) < 23.4:
        return "lower"
    return "right" if (elongation(at) < 180) == (latitude > 0) else "left"


@task("moon_phase:1.0", idempotent=True, timeout=2)
def moon_phase(at: Optional[str] = None) -> Phase:
    """
    The phase of the moon at an instant, by default now.

    Lit part from 0 to 1, days since the new moon, and when it is new and full next, in UTC.
    """
    return _phase(_instant(at))


@task("moon_tonight:1.0", idempotent=True, timeout=2)
def moon_tonight(cityId: int, ctx: Context, at: Optional[str] = None) -> MoonTonight:  # noqa: N803
    """
    The moon over a city in the middle of the coming night, and which side of it is lit.

    Where the city lies it asks the places worker, which runs on Node, by a nested call.
    """
    city = ctx.call("city_facts:1.0", cityId=cityId)["city"]
    if city is None:
        raise TaskError(f"There is no city with the id {cityId}.", data={"cityId": cityId})
    night = _midnight(_instant(at), city["longitude"])
    return {**_phase(night), "litSide": _lit_side(night, city["latitude"])}
