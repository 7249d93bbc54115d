"""
JSON as RFC 8785 (JSON Canonicalization Scheme) writes it, but integers beyond 2^53 - 1 with all their digits: one text for one value, in
all languages.
"""

from __future__ import annotations

import math
from typing import Any

from .payload import compact, escaped_halves

#: Beyond these JavaScript writes a number with an exponent.
_MOST_DIGITS = 21
_MOST_ZEROS = 6
_FIRST_INEXACT = 2**53


def canonical(value: Any, exact: bool = True) -> str:
    """Without ``exact`` as RFC 8785 has it, where every number is a double: so JavaScript reads the schemas of a declaration."""
    if isinstance(value, dict):
        fields = sorted(value.items(), key=lambda field: field[0].encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_text(key)}:{canonical(inner, exact)}" for key, inner in fields) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(each, exact) for each in value) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool) or value is None:
        return compact(value)
    return _number(value, exact)


def _text(value: str) -> str:
    return escaped_halves(compact(value))


def _number(value: Any, exact: bool) -> str:
    """As JavaScript writes the double of that."""
    if exact and isinstance(value, int) and abs(value) >= _FIRST_INEXACT:
        return str(value)
    try:
        double = float(value)
    except OverflowError:
        return "null"
    if math.isinf(double):
        return "null"
    if double == 0:
        return "0"
    sign = "-" if double < 0 else ""
    mantissa, _, exponent = repr(abs(double)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    # As 0.<digits> * 10^point.
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    if len(digits) <= point <= _MOST_DIGITS:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= _MOST_DIGITS:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -_MOST_ZEROS < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = point - 1
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'+' if power > 0 else '-'}{abs(power)}"
