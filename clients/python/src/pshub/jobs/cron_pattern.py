"""The patterns of schedules, which all languages read alike. PROTOCOL.md, section 10.14."""

from __future__ import annotations

import re
from typing import NamedTuple

_NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class _Field(NamedTuple):
    name: str
    least: int
    most: int
    #: Of the first values.
    names: tuple[str, ...]
    #: For people: what it takes beside numbers.
    more: str

    @property
    def size(self) -> int:
        """How many different values there are; 7 is another 0 of the days of the week."""
        return self.most - self.least + (0 if self.most == 7 else 1)


_FIELDS = (
    _Field("second", 0, 59, (), ""),
    _Field("minute", 0, 59, (), ""),
    _Field("hour", 0, 23, (), ""),
    _Field("day of month", 1, 31, (), ", L"),
    _Field("month", 1, 12, _MONTHS, ", names as JAN"),
    _Field("day of week", 0, 7, _DAYS, ", names as MON, 1#2, 5L"),
)
_ITEM = re.compile(r"(?:\*|([0-9]{1,2}|[A-Z]{3})(?:-([0-9]{1,2}|[A-Z]{3}))?)(?:/([0-9]{1,2}))?")
_NTH = re.compile(r"([0-7]|[A-Z]{3})(?:#([1-5])|(L))")


class WrongPattern(ValueError):
    """What is wrong with a pattern, for people; to end a sentence with, without a full stop."""


class CronPattern(NamedTuple):
    """A pattern whose values are all named: ``*`` alone, or a list of numbers; and ``L``, ``1#2``, ``5L``, in that way."""

    #: Second, minute, hour, day of month, month, day of week.
    fields: tuple[str, str, str, str, str, str]
    #: It names one time of the day, which is not to be passed over, nor to come twice, where clocks are changed.
    is_fixed: bool
    #: There is a day that it means.
    is_possible: bool


def read_pattern(cron: str) -> CronPattern:
    """Raises WrongPattern."""
    texts = _NICKNAMES.get(cron.strip().lower(), cron).upper().replace("?", "*").split()
    if len(texts) == 5:
        texts.insert(0, "0")
    if len(texts) != 6:
        raise WrongPattern("it must have five fields (minute, hour, day of month, month, day of week), or six with seconds in front")
    read = [_read_field(field, text) for field, text in zip(_FIELDS, texts)]
    is_fixed = all(len(items) == 1 and not _is_open(text) for items, text in zip(read[:3], texts))
    fields = tuple("*" if text == "*" else ",".join(items) for items, text in zip(read, texts))
    return CronPattern(fields, is_fixed, _is_possible(*fields[3:]))  # type: ignore[arg-type]


def _is_open(text: str) -> bool:
    return "*" in text or "/" in text


def _read_field(field: _Field, text: str) -> list[str]:
    """The values of a field, each as a library understands it."""
    numbers: set[int] = set()
    others: list[str] = []
    for item in text.split(","):
        nth = _NTH.fullmatch(item) if field.most == 7 else None
        if nth:
            day = _number(field, nth[1], item) % 7
            others.append(f"{day}L" if nth[3] else f"{day}#{nth[2]}")
        elif item == "L" and field.name == "day of month":
            others.append("L")
        else:
            numbers |= _values(field, item)
    return [*map(str, sorted(numbers)), *dict.fromkeys(others)]


def _values(field: _Field, item: str) -> frozenset[int]:
    match = _ITEM.fullmatch(item)
    if match is None:
        raise _wrong(field, item)
    first, last, step = match[1], match[2], match[3]
    if first is None:
        low, high = field.least, field.least + field.size - 1
    else:
        low = _number(field, first, item)
        high = low if last is None else _number(field, last, item)
        # A week may end with a Sunday.
        high = 7 if last == "SUN" else high
    every = 1 if step is None else int(step)
    if low > high or not 1 <= every <= field.size or (step is not None and first is not None and last is None):
        raise _wrong(field, item)
    return frozenset(value % 7 if field.most == 7 else value for value in range(low, high + 1, every))


def _number(field: _Field, text: str, item: str) -> int:
    if text in field.names:
        return field.names.index(text) + field.least
    if text.isdigit() and field.least <= int(text) <= field.most:
        return int(text)
    raise _wrong(field, item)


def _wrong(field: _Field, item: str) -> WrongPattern:
    takes = f"it takes {field.least} to {field.most}{field.more}, *, lists, ranges as 1-5 and steps as */2 or 1-5/2"
    return WrongPattern(f"its {field.name} cannot be '{item[:40]}'; {takes}")


def _is_possible(days: str, months: str, weekdays: str) -> bool:
    """A day of the week is in each month, or in some; the 31st is not."""
    if weekdays != "*" or days == "*" or "L" in days:
        return True
    longest = [_LONGEST_MONTHS[int(month) - 1] for month in months.split(",")] if months != "*" else [31]
    return min(map(int, days.split(","))) <= max(longest)
