"""Schedules as they lie in Redis, and what is to be done at their times. PROTOCOL.md, section 10.14."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypedDict

from ..wire.clock import wall_ms
from ..wire.errors import ConfigError, HubError, InvalidArgs
from ..wire.foreign import LATEST_MS, Unreadable, is_count, object_of, text_of
from ..wire.ids import new_id
from ..wire.job_part import read_job_part
from ..wire.keys import is_queue_name
from ..wire.payload import compact
from .chain import Step, step_message
from .cron import NO_CRON, UnknownZone, check_zone, next_ms
from .cron_pattern import WrongPattern


class ScheduleTimes(TypedDict, total=False):
    """
    When jobs of a schedule are enqueued.

    :ivar cron: five fields (minute, hour, day of month, month, day of week), or six with seconds in front; or ``@daily`` and the like
    :ivar timezone: IANA name, as Europe/Berlin. Default UTC
    :ivar missed: what becomes of times at which no worker was there, or Redis was away: ``"once"`` for all of them together (default),
        or ``"skip"``
    """

    cron: str
    timezone: str | None
    missed: str | None


class ScheduleEntry(NamedTuple):
    cron: str
    #: None: UTC.
    timezone: str | None
    #: ``once`` or ``skip``; None where it was not said.
    missed: str | None
    task: str
    #: JSON.
    args: str
    #: A JobPart.
    job: Mapping[str, Any] | None
    ttl_ms: int
    #: Since when it is paused, milliseconds since 1970; None: it is not.
    paused_ms: int | None
    #: Name of the service that made it.
    from_: str | None

    def next_ms(self, after_ms: float) -> int | None:
        """The first time behind this moment. Raises WrongPattern, UnknownZone."""
        return next_ms(self.cron, self.timezone or "UTC", after_ms)


#: A time that is this late was missed.
_MISSED_MS = 60_000
#: No entry is longer.
_MAX_ENTRY = 2 * 1024 * 1024
_KNOWN = tuple(ScheduleTimes.__annotations__)


def check_times(name: Any, times: Any) -> ScheduleTimes:
    """Raises InvalidArgs that says what is wrong with them; ConfigError where no pattern can be read."""

    def wrong(what: str) -> HubError:
        return InvalidArgs(f"schedule {str(name)[:80]}: {what}.")

    need_cron()
    if not is_queue_name(name):
        raise wrong("its name must be 1 to 64 letters, digits, dots, dashes and underscores")
    given = {key: value for key, value in times.items() if value is not None} if isinstance(times, dict) else {}
    for key in given:
        if key not in _KNOWN:
            raise wrong(f"there is no option '{str(key)[:80]}'. Known: {', '.join(_KNOWN)}")
    cron, timezone = given.get("cron"), given.get("timezone")
    if not isinstance(cron, str):
        raise wrong("cron must be a string like '0 3 * * *'")
    if given.get("missed", "once") not in ("once", "skip"):
        raise wrong("missed must be 'once' or 'skip'")
    try:
        check_zone("UTC" if timezone is None else str(timezone))
        if next_ms(cron, "UTC" if timezone is None else str(timezone), wall_ms()) is None:
            raise WrongPattern("it has no run time in the future")
    except (WrongPattern, UnknownZone) as error:
        where = "" if timezone is None else f" in {str(timezone)[:80]}"
        raise wrong(f"cron '{cron[:80]}'{where}: {error}") from None
    return given  # type: ignore[return-value]


def need_cron() -> None:
    if NO_CRON is not None:
        raise ConfigError(f"{NO_CRON[0].upper()}{NO_CRON[1:]}.")


def entry_text(entry: ScheduleEntry) -> str:
    told = {
        "cron": entry.cron, "timezone": entry.timezone, "missed": entry.missed, "task": entry.task, "args": entry.args,
        "job": entry.job, "ttl": entry.ttl_ms, "pausedMs": entry.paused_ms, "from": entry.from_,
    }  # fmt: skip
    return compact({name: value for name, value in told.items() if value is not None})


def read_entry(text: bytes | None) -> ScheduleEntry | None:
    """None for what cannot be used."""
    try:
        entry = object_of(text or b"", _MAX_ENTRY)
    except Unreadable:
        return None
    cron, task, args = (entry.get(name) for name in ("cron", "task", "args"))
    if not isinstance(cron, str) or not isinstance(task, str) or not isinstance(args, str):
        return None
    timezone, ttl, paused_ms, from_ = (entry.get(name) for name in ("timezone", "ttl", "pausedMs", "from"))
    return ScheduleEntry(
        cron,
        timezone if isinstance(timezone, str) else None,
        "skip" if entry.get("missed") == "skip" else "once",
        text_of(task, 128),
        args,
        read_job_part(entry["job"]) if isinstance(entry.get("job"), dict) else None,
        int(ttl) if ttl is not None and is_count(ttl) else 0,
        int(paused_ms) if paused_ms is not None and is_count(paused_ms, LATEST_MS) else None,
        from_[:64] if isinstance(from_, str) else None,
    )


def tick_of(entry: ScheduleEntry, tick_ms: int, now_ms: float, queue: str) -> tuple[str, int | None]:
    """What is to be done at a time that has come: its job, empty where that time is passed over, and the next time."""
    is_skipped = entry.missed == "skip" and now_ms - tick_ms > _MISSED_MS
    return "" if is_skipped else run_message(new_id(), entry, queue, tick_ms), entry.next_ms(max(now_ms, tick_ms))


def run_message(id: str, entry: ScheduleEntry, queue: str, due_ms: int) -> str:
    """Its job, due at this moment."""
    part = {**(entry.job or {}), "due": due_ms}
    return step_message([Step(id, entry.task, queue, entry.args, part, entry.ttl_ms)], entry.from_)
