"""
Patterns of JSON Schema, which are those of ECMA-262 with its flag ``u``, as patterns of ``re``. What looks the same there often is
not: ``$`` of ``re`` lets a line end through, and its ``\\d`` takes the digits of all scripts.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

Ranges = list[tuple[int, int]]

_DIGITS: Ranges = [(0x30, 0x39)]
_WORDS: Ranges = [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]
_SPACES: Ranges = [
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
    (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
]  # fmt: skip
_LINE_ENDS: Ranges = [(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)]
_SETS = {"d": _DIGITS, "w": _WORDS, "s": _SPACES}
_CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D}
_SYNTAX = "^$\\.*+?()[]{}|/"
_QUANTIFIER = re.compile(r"([*+?]|\{([0-9]+)(?:(,)([0-9]*))?\})(\??)")
_GROUP = re.compile(r"\((\?(?:[:=!]|<[=!]|<([^\W0-9][\w$]*)>))?")
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]+)\}")
_LOW_HALF = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_PROPERTY = re.compile(r"[pP]\{(?:(?:General_Category|gc)=)?([A-Za-z_]+)\}")
_OTHER_PROPERTY = re.compile(r"[pP]\{[A-Za-z_]+(?:=[A-Za-z0-9_]+)?\}")


class NotAPattern(ValueError):
    """It is not valid in ECMA-262."""


class PatternBeyond(ValueError):
    """It is one, of which ``re`` has no equal."""


class Pattern(str):
    """A pattern for ``re.search``."""

    #: As it was written, which is what people are told.
    ecma: str


@lru_cache(maxsize=1024)
def translated(text: str) -> Pattern:
    """Raises NotAPattern or PatternBeyond."""
    pattern = Pattern(_Reader(text).pattern())
    pattern.ecma = text
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternBeyond(f"the pattern {text[:80]!r} cannot be checked here: {error}") from None
    return pattern


#: What is meant by escapes of other languages, and of a pattern without its flag u.
_MEANT = {"A": "^", "Z": "$", "z": "$"}
_PLAIN = frozenset("-!\"#%&',:;<=>@_`~ ")


def advice_for(pattern: str) -> str:
    """What to write in place of what is wrong in a pattern, where that is known."""
    if "(?P<" in pattern:
        return "; write (?< instead of (?P<"
    for part in re.findall(r"\[(?:\\.|[^\]\\])*\]|\\.", pattern, re.DOTALL):
        in_class = part.startswith("[")
        for escape in re.findall(r"\\.", part, re.DOTALL):
            char = escape[1]
            plain = _MEANT.get(char) or (char if char in _PLAIN and not (in_class and char == "-") else None)
            if plain:
                return f"; write {plain} instead of {escape}"
    return ""


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        # Every "(" that is not escaped, in a class, or the start of something that captures nothing.
        plain = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "", text, flags=re.DOTALL)
        self._names: list[str | None] = [m[2] for m in _GROUP.finditer(plain) if m[1] is None or m[2] is not None]
        named = [name for name in self._names if name]
        if len(named) != len(set(named)):
            self._fail()

    def _fail(self) -> None:
        raise NotAPattern(f"the pattern {self._text[:80]!r} is not valid in ECMA-262")

    def _take(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        found = expression.match(self._text, self._at)
        if found:
            self._at = found.end()
        return found

    def pattern(self) -> str:
        out: list[str] = []
        # What each open group starts with, which says whether it may be repeated.
        groups: list[str] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "(":
                groups.append(self._open(out))
                continue
            can_repeat = True
            if char == "[":
                out.append(self._class())
            elif char == "\\":
                self._at += 1
                can_repeat = not self._boundary(out) and self._escape(out)
            else:
                self._at += 1
                if char == ")":
                    if not groups:
                        self._fail()
                    can_repeat = groups.pop() in ("(", "(?:")
                    out.append(")")
                elif char in "^$|":
                    can_repeat = False
                    out.append({"^": r"\A", "$": r"\Z", "|": "|"}[char])
                elif char in "*+?{}]":
                    self._fail()
                else:
                    out.append(_negated(_LINE_ENDS) if char == "." else re.escape(char))
            self._repeat(out, can_repeat)
        if groups:
            self._fail()
        return "".join(out)

    def _open(self, out: list[str]) -> str:
        found = self._take(_GROUP)
        if found is None or self._text.startswith("?", self._at):
            self._fail()
        start = "(" if found[1] is None or found[2] else found[0]  # type: ignore[index]
        out.append(start)
        return start

    def _repeat(self, out: list[str], can_repeat: bool) -> None:
        found = self._take(_QUANTIFIER)
        if found is None:
            return
        if not can_repeat or (found[4] and int(found[2]) > int(found[4])):
            self._fail()
        out.append(found[0])

    def _boundary(self, out: list[str]) -> bool:
        char = self._text[self._at : self._at + 1]
        if char not in ("b", "B"):
            return False
        self._at += 1
        word = _among(_WORDS)
        ends = (f"(?<={word})(?!{word})", f"(?<!{word})(?={word})")
        within = (f"(?<={word})(?={word})", f"(?<!{word})(?!{word})")
        out.append(f"(?:{'|'.join(ends if char == 'b' else within)})")
        return True

    def _escape(self, out: list[str]) -> bool:
        """Outside of a class, behind the backslash. Always True: what it stands for may be repeated."""
        reference = self._take(re.compile(r"[1-9][0-9]*|k<([^>]*)>"))
        if reference is None:
            out.append(_among(self._ranges()))
            return True
        number = 0
        if reference[1] is None:
            number = int(reference[0])
        elif reference[1] in self._names:
            number = self._names.index(reference[1]) + 1
        if not 1 <= number <= len(self._names):
            self._fail()
        # A group that took no part is an empty text there.
        out.append(f"(?({number})\\{number}|)")
        return True

    def _class(self) -> str:
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        ranges: Ranges = []
        while not self._text.startswith("]", self._at):
            first = self._member()
            if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
                self._at += 1
                last = self._member()
                if not (_is_one(first) and _is_one(last)) or first[0][0] > last[0][0]:
                    self._fail()
                first = [(first[0][0], last[0][0])]
            ranges.extend(first)
        self._at += 1
        return _negated(ranges) if negated else _among(ranges)

    def _member(self) -> Ranges:
        char = self._text[self._at : self._at + 1]
        if not char:
            self._fail()
        self._at += 1
        if char != "\\":
            return [(ord(char), ord(char))]
        for literal, code in (("b", 0x08), ("-", 0x2D)):
            if self._text.startswith(literal, self._at):
                self._at += 1
                return [(code, code)]
        return self._ranges()

    def _ranges(self) -> Ranges:
        """What an escape stands for, behind the backslash."""
        char = self._text[self._at : self._at + 1]
        code: int | None = None
        hexadecimal = self._take(_HEX)
        if hexadecimal:
            code = int(hexadecimal[1] or hexadecimal[2] or hexadecimal[3], 16)
            low = self._take(_LOW_HALF) if hexadecimal[2] and 0xD800 <= code <= 0xDBFF else None
            if low:
                code = 0x10000 + (code - 0xD800) * 0x400 + int(low[1], 16) - 0xDC00
            if code > sys.maxunicode:
                self._fail()
            return [(code, code)]
        if char in ("p", "P"):
            return self._property(char == "P")
        self._at += 1
        if char in _CONTROLS:
            code = _CONTROLS[char]
        elif char == "0" and not re.match("[0-9]", self._text[self._at : self._at + 1]):
            code = 0
        elif char == "c" and re.match("[A-Za-z]", self._text[self._at : self._at + 1]):
            code = ord(self._text[self._at]) % 32
            self._at += 1
        elif char and char in _SYNTAX:
            code = ord(char)
        elif char and char in "dwsDWS":
            return _SETS[char] if char.islower() else _complement(_SETS[char.lower()])
        if code is None:
            self._fail()
        return [(code, code)]  # type: ignore[list-item]

    def _property(self, negated: bool) -> Ranges:
        found = self._take(_PROPERTY)
        ranges = found and _category(found[1])
        if ranges:
            return _complement(ranges) if negated else ranges
        if found is None and not _OTHER_PROPERTY.match(self._text, self._at):
            self._fail()
        raise PatternBeyond(f"the pattern {self._text[:80]!r} has a Unicode property that cannot be checked here")


def _is_one(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _complement(ranges: Ranges) -> Ranges:
    rest: Ranges = []
    start = 0
    for first, last in sorted(ranges):
        if first > start:
            rest.append((start, first - 1))
        start = max(start, last + 1)
    return rest + ([(start, sys.maxunicode)] if start <= sys.maxunicode else [])


def _among(ranges: Ranges) -> str:
    members = "".join(f"\\U{first:08x}-\\U{last:08x}" if first < last else f"\\U{first:08x}" for first, last in ranges)
    return f"[{members}]" if members else "(?!)"


def _negated(ranges: Ranges) -> str:
    return f"[^{_among(ranges)[1:]}" if ranges else "(?s:.)"


_CATEGORIES = {
    "Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M", "Number": "N", "Decimal_Number": "Nd", "Punctuation": "P",
    "Symbol": "S", "Separator": "Z", "Space_Separator": "Zs", "Other": "C", "Control": "Cc",
}  # fmt: skip
_SHORT = {
    "L", "LC", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
    "S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "Zl", "Zp", "C", "Cc", "Cf", "Cs", "Co", "Cn",
}  # fmt: skip


@lru_cache(maxsize=64)
def _category(name: str) -> Ranges | None:
    short = _CATEGORIES.get(name, name)
    if short not in _SHORT:
        return None
    wanted = ("Lu", "Ll", "Lt") if short == "LC" else (short,)
    ranges: Ranges = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)).startswith(wanted):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1] = (ranges[-1][0], code)
            else:
                ranges.append((code, code))
    return ranges
