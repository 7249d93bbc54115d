"""
The formats of PROTOCOL.md, section 9.3, as their RFCs have them. They are spelled out here and in every client, because libraries
differ in what they let pass, and a call that one language takes must not be refused by another. What jsonschema[format] brings takes
``.ada@example.org``, say, and the template ``a b``.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

from .patterns import NotAPattern, PatternBeyond, translated

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = rf"(?:{_OCTET}\.){{3}}{_OCTET}"

_PIECE = "[0-9A-Fa-f]{1,4}"
_LAST_TWO = f"(?:{_PIECE}:{_PIECE}|{_IPV4})"


def _up_to(pieces: int) -> str:
    return f"(?:(?:{_PIECE}:){{0,{pieces - 1}}}{_PIECE})?"


_SHORTENED = [f"{_up_to(before)}::(?:{_PIECE}:){{{5 - before}}}{_LAST_TWO}" for before in range(1, 6)]
_IPV6 = "|".join(
    [
        f"(?:{_PIECE}:){{6}}{_LAST_TWO}",
        f"::(?:{_PIECE}:){{5}}{_LAST_TWO}",
        *_SHORTENED,
        f"{_up_to(6)}::{_PIECE}",
        f"{_up_to(7)}::",
    ]
)

_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOSTNAME = rf"{_LABEL}(?:\.{_LABEL})*"

_WORD = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_QUOTED = r'"(?:[ !#-\[\]-~]|\\[ -~])*"'
_EMAIL = rf"(?:{_WORD}(?:\.{_WORD})*|{_QUOTED})@(?:{_HOSTNAME}|\[(?:{_IPV4}|IPv6:(?:{_IPV6}))\])"

_ESCAPED = "%[0-9A-Fa-f]{2}"
_PLAIN = "A-Za-z0-9._~!$&'()*+,;="
_LETTER = f"(?:[{_PLAIN}:@-]|{_ESCAPED})"
_HOST = rf"(?:\[(?:{_IPV6}|[Vv][0-9A-Fa-f]+\.[{_PLAIN}:-]+)\]|(?:[{_PLAIN}-]|{_ESCAPED})*)"
_AUTHORITY = f"(?:(?:[{_PLAIN}:-]|{_ESCAPED})*@)?{_HOST}(?::[0-9]*)?"
_ABSOLUTE = f"//{_AUTHORITY}(?:/{_LETTER}*)*|/(?:{_LETTER}+(?:/{_LETTER}*)*)?"
_TAIL = rf"(?:\?(?:{_LETTER}|[/?])*)?(?:#(?:{_LETTER}|[/?])*)?"
_SCHEME = "[A-Za-z][A-Za-z0-9+.-]*:"
_URI = f"{_SCHEME}(?:{_ABSOLUTE}|{_LETTER}+(?:/{_LETTER}*)*)?{_TAIL}"
# The first step of a relative path has no colon: it would be a scheme.
_RELATIVE = f"(?:{_ABSOLUTE}|(?:[{_PLAIN}@-]|{_ESCAPED})+(?:/{_LETTER}*)*)?{_TAIL}"

_NAME = rf"(?:[A-Za-z0-9_]|{_ESCAPED})+(?:\.(?:[A-Za-z0-9_]|{_ESCAPED})+)*(?::[1-9][0-9]{{0,3}}|\*)?"
_TEMPLATE = rf"(?:[^\x00-\x20\"'<>%\\^`{{|}}]|{_ESCAPED}|\{{[+#./;?&=,!@|]?{_NAME}(?:,{_NAME})*\}})*"

_POINTER = "(?:/(?:[^~/]|~[01])*)*"
_OF_DAY = "(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?"
_OF_TIME = "(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+S)?)?"

_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)(?:\.[0-9]+)?(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))")


def _whole(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


_is_hostname = _whole(_HOSTNAME)


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    year, month, day = (int(part) for part in text.split("-"))
    try:
        # Years begin with 1 there; 2000 is a leap year as 0 is.
        datetime.date(year or 2000, month, day)
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    parts = _TIME.fullmatch(text)
    if parts is None:
        return False
    if parts[3] != "60":
        return True
    # A leap second is the last one of a day in UTC.
    offset = (int(parts[5] or 0) * 60 + int(parts[6] or 0)) * (-1 if parts[4] == "-" else 1)
    return (int(parts[1]) * 60 + int(parts[2]) - offset) % 1440 == 1439


def _is_pattern(text: str) -> bool:
    try:
        translated(text)
    except NotAPattern:
        return False
    except PatternBeyond:
        pass
    return True


FORMATS: dict[str, Callable[[str], bool]] = {
    "date": _is_date,
    "time": _is_time,
    "date-time": lambda text: _is_date(text[:10]) and text[10:11] in ("T", "t") and _is_time(text[11:]),
    "duration": _whole(rf"P(?!\Z)(?:{_OF_DAY}{_OF_TIME}|[0-9]+W)"),
    "email": _whole(_EMAIL),
    "hostname": lambda text: len(text) <= 253 and _is_hostname(text),
    "ipv4": _whole(_IPV4),
    "ipv6": _whole(_IPV6),
    "uri": _whole(_URI),
    "uri-reference": _whole(f"{_URI}|{_RELATIVE}"),
    "uri-template": _whole(_TEMPLATE),
    "uuid": _whole("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
    "json-pointer": _whole(_POINTER),
    "relative-json-pointer": _whole(f"(?:0|[1-9][0-9]*)(?:#|{_POINTER})"),
    "regex": _is_pattern,
}


def fits_format(name: Any, value: Any) -> bool:
    """Formats that are not among these say nothing, and none says anything about what is no text."""
    check = FORMATS.get(name) if isinstance(name, str) else None
    return check is None or not isinstance(value, str) or check(value)
