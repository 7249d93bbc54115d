"""
When the moon is new and full, and how much of it is lit.

After Jean Meeus, Astronomical Algorithms (2nd edition): chapter 49 for the instants of the phases, with its larger terms, and
chapter 48 for the lit part. The instants are right to about two minutes in these decades, the lit part to half a percent.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from math import cos, floor, radians, sin
from typing import Callable

LUNATION_DAYS = 29.530588861

#: Noon of 1 January 2000, and its Julian day.
_J2000 = datetime(2000, 1, 1, 12, tzinfo=timezone.utc)
_J2000_JD = 2451545.0

#: The formulas count uniform time, which runs ahead of UTC by about this much in these decades.
_AHEAD_S = 69.2

#: (new moon, full moon, power of E, multiples of M, M', F): the terms of the sine series, in days.
_TERMS = (
    (-0.40720, -0.40614, 0, 0, 1, 0),
    (0.17241, 0.17302, 1, 1, 0, 0),
    (0.01608, 0.01614, 0, 0, 2, 0),
    (0.01039, 0.01043, 0, 0, 0, 2),
    (0.00739, 0.00734, 1, -1, 1, 0),
    (-0.00514, -0.00515, 1, 1, 1, 0),
    (0.00208, 0.00209, 2, 2, 0, 0),
    (-0.00111, -0.00111, 0, 0, 1, -2),
    (-0.00057, -0.00057, 0, 0, 1, 2),
    (0.00056, 0.00056, 1, 1, 2, 0),
    (-0.00042, -0.00042, 0, 0, 3, 0),
    (0.00042, 0.00042, 1, 1, 0, 2),
    (0.00038, 0.00038, 1, 1, 0, -2),
    (-0.00024, -0.00024, 1, -1, 2, 0),
)


def _instant(count: int, full: bool) -> datetime:
    """The new moon with this number, counted from 6 January 2000, or the full moon after it."""
    k = count + (0.5 if full else 0.0)
    t = k / 1236.85
    days = 2451550.09766 + LUNATION_DAYS * k + 0.00015437 * t * t - _J2000_JD
    sun = radians(2.5534 + 29.10535670 * k - 0.0000014 * t * t)
    moon = radians(201.5643 + 385.81693528 * k + 0.0107582 * t * t)
    node_distance = radians(160.7108 + 390.67050284 * k - 0.0016118 * t * t)
    node = radians(124.7746 - 1.56375588 * k + 0.0020672 * t * t)
    # The earth's path grows rounder, and the terms with M weaker.
    e = 1 - 0.002516 * t - 0.0000074 * t * t
    for new_days, full_days, power, m, m_moon, f in _TERMS:
        days += (full_days if full else new_days) * e**power * sin(m * sun + m_moon * moon + f * node_distance)
    days += -0.00017 * sin(node) + 0.000325 * sin(radians(299.77 + 0.107408 * k - 0.009173 * t * t))
    return _J2000 + timedelta(days=days, seconds=-_AHEAD_S)


def _days(at: datetime) -> float:
    return (at - _J2000).total_seconds() / 86_400


def _first(fits: Callable[[datetime], bool], at: datetime, full: bool, step: int) -> datetime:
    """The nearest phase that fits, going forward or back; the mean count is never off by more than one."""
    count = floor(_days(at) / LUNATION_DAYS) - 2 * step
    while not fits(_instant(count, full)):
        count += step
    return _instant(count, full)


def last_new_moon(at: datetime) -> datetime:
    return _first(lambda instant: instant <= at, at, full=False, step=-1)


def next_new_moon(at: datetime) -> datetime:
    return _first(lambda instant: instant > at, at, full=False, step=1)


def next_full_moon(at: datetime) -> datetime:
    return _first(lambda instant: instant > at, at, full=True, step=1)


def elongation(at: datetime) -> float:
    """Degrees that the moon is ahead of the sun, as seen from the earth: 0 is new, 90 the first quarter, 180 full."""
    t = (_days(at) + _AHEAD_S / 86_400) / 36_525
    d = 297.8501921 + 445267.1114034 * t
    sun = radians(357.5291092 + 35999.0502909 * t)
    moon = radians(134.9633964 + 477198.8675055 * t)
    r = radians(d)
    series = 6.289 * sin(moon) - 2.100 * sin(sun) + 1.274 * sin(2 * r - moon) + 0.658 * sin(2 * r)
    return (d + series + 0.214 * sin(2 * moon) + 0.110 * sin(r)) % 360


def lit_part(at: datetime) -> float:
    """How much of the disc is lit, from 0 to 1."""
    return (1 - cos(radians(elongation(at)))) / 2


_NAMES = (
    "new moon",
    "waxing crescent",
    "first quarter",
    "waxing moon",
    "full moon",
    "waning moon",
    "last quarter",
    "waning crescent",
)

#: The moon moves by about this much in half a day; so near to a quarter it is called by it.
_NEAR_DEGREES = 6.1


def phase_name(at: datetime) -> str:
    quarter, past = divmod(elongation(at) + _NEAR_DEGREES, 90)
    return _NAMES[int(quarter) % 4 * 2 + (past > 2 * _NEAR_DEGREES)]
