"""When the next time of a schedule is."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from .cron_pattern import CronPattern, WrongPattern, read_pattern

try:
    from cronsim import CronSim as _CronSim
except ImportError:
    _CronSim: Any = None  # type: ignore[no-redef]

_EPOCH = datetime(1970, 1, 1)
_DAY_S = 86_400
_ZONE = re.compile(r"[A-Z][A-Za-z0-9_+-]*(?:/[A-Z][A-Za-z0-9_+-]*)*")


class UnknownZone(Exception):
    """A time zone that cannot be read here. Somebody else may know it."""


#: Why schedules cannot be made here, and what to do about it; None where they can.
NO_CRON = None if _CronSim is not None else "schedules need the package cronsim; install pshub-client[schedules]"


def next_ms(cron: str, zone_name: str, after_ms: float) -> int | None:
    """
    The first time behind this moment, milliseconds since 1970; None when there is none. cronsim knows of days and weeks; what becomes of
    a time where clocks are changed is said here, because every library has another opinion of that, and all languages must have one.
    Raises WrongPattern, UnknownZone.
    """
    pattern, zone = read_pattern(cron), _zone_of(zone_name)
    if not pattern.is_possible:
        return None
    after = int(after_ms // 1000)
    found = _fixed(pattern, zone, after) if pattern.is_fixed else _open(pattern, zone, after)
    return None if found is None else found * 1000


def _fixed(pattern: CronPattern, zone: tzinfo, after: int) -> int | None:
    """One time a day: at the end of a gap that swallows it, once where it comes twice."""
    for wall in _walls(pattern, after + _offset(zone, after)):
        early, late = (_moment(wall, zone, fold) for fold in (0, 1))
        if early + _offset(zone, early) != wall and late + _offset(zone, late) != wall:
            end = _change(zone, late, early)
            # A whole day may be skipped.
            early = after if end is None or (end + _offset(zone, end)) // _DAY_S != wall // _DAY_S else end
        if early > after:
            return early
    return None


def _open(pattern: CronPattern, zone: tzinfo, after: int) -> int | None:
    """The first moment whose local time fits: where clocks go back, local times come twice."""
    since, offset = after, _offset(zone, after)
    wall = since + offset
    while True:
        found = next(_walls(pattern, wall), None)
        if found is None:
            return None
        change = _change(zone, since, found - offset)
        if change is None:
            return found - offset
        since, offset = change, _offset(zone, change)
        wall = since + offset - 1


def _walls(pattern: CronPattern, behind: int) -> Iterator[int]:
    """Local times that fit, as seconds since 1970 of a clock that is never changed. cronsim knows no seconds before Python 3.10."""
    seconds = range(60) if pattern.fields[0] == "*" else [int(text) for text in pattern.fields[0].split(",")]
    # From a minute ahead of this one, which may have seconds left.
    since = _EPOCH + timedelta(seconds=behind // 60 * 60 - 60)
    for minute in _CronSim(" ".join(pattern.fields[1:]), since):
        for second in seconds:
            wall = int((minute - _EPOCH).total_seconds()) + second
            if wall > behind:
                yield wall


def _moment(wall: int, zone: tzinfo, fold: int) -> int:
    return int((_EPOCH + timedelta(seconds=wall)).replace(tzinfo=zone, fold=fold).timestamp())


def _offset(zone: tzinfo, moment: int) -> int:
    found = datetime.fromtimestamp(moment, timezone.utc).astimezone(zone).utcoffset()
    return int(found.total_seconds()) if found is not None else 0


def _change(zone: tzinfo, since: int, until: int) -> int | None:
    """The first moment behind ``since``, up to ``until``, from which on clocks are set otherwise than then."""
    if zone is timezone.utc:
        return None
    before = _offset(zone, since)
    while since < until:
        day = min(since + _DAY_S, until)
        if _offset(zone, day) == before:
            since = day
            continue
        while day - since > 1:
            middle = (since + day) // 2
            since, day = (middle, day) if _offset(zone, middle) == before else (since, middle)
        return day
    return None


@functools.lru_cache(maxsize=100)
def _zone_of(name: str) -> tzinfo:
    # It needs no data.
    if name == "UTC":
        return timezone.utc
    try:
        if _ZONE.fullmatch(name):
            return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        pass
    raise UnknownZone(f"{name[:80]} is not among the time zones of this Python; the package tzdata has all of them")


@functools.lru_cache(maxsize=1)
def _zone_names() -> frozenset[str]:
    return frozenset(available_timezones() - {"Factory", "localtime"})


def check_zone(name: str) -> None:
    """Any worker must be able to keep a schedule up: its zone is named in the letters of the IANA database. Raises WrongPattern."""
    if name != "UTC" and name not in _zone_names():
        raise WrongPattern("there is no such time zone; use a name such as Europe/Berlin")
