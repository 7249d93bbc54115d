"""Arguments and results as JSON text, with the limits of PROTOCOL.md, section 4."""

from __future__ import annotations

import json
import re
from typing import Any

from .natives import TwinKeys, plain, plain_keys, refuse_all_twins, refuse_twins

#: Deepest nesting of arrays and objects in arguments and results.
MAX_DEPTH = 64

#: The texts in some JSON.
STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
#: A key that may have been no text: 1 and "1" in one dict are both written as "1".
LIKE_NO_TEXT = re.compile(r'"(?:-?[0-9][^"]*|true|false|null)":')
#: Halves of surrogate pairs.
SURROGATES = re.compile("[\ud800-\udfff]")


class PayloadProblem(ValueError):
    """A value that cannot travel as JSON."""

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.problem: dict[str, str] = {"pointer": pointer, "message": message}


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=plain).encode


def _refuse_word(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


_decode = json.JSONDecoder(parse_constant=_refuse_word).decode


def _encoded(value: Any) -> str:
    try:
        text = _encode(value)
    except TypeError as error:
        if not str(error).startswith("keys must be"):
            raise
        return _encode(plain_keys(value))
    if LIKE_NO_TEXT.search(text):
        refuse_all_twins(value)
    return text


def encode_payload(value: Any) -> str:
    """``value`` as JSON text; what Python has beside that is written by wire/natives.py. Raises PayloadProblem."""
    try:
        text = _encoded(value)
    except RecursionError:
        raise PayloadProblem(_TOO_DEEP) from None
    except (TypeError, ValueError, OverflowError) as error:
        raise PayloadProblem(f"not JSON: {error}", _pointer_of_refused(value)) from None
    except Exception as error:
        # Of a class of somebody's: a field that was never set, a serializer that fails.
        raise PayloadProblem(f"not JSON: {type(error).__name__}: {error}", _pointer_of_refused(value)) from None
    if nests_deeper_than(text, MAX_DEPTH):
        raise PayloadProblem(_TOO_DEEP)
    if '"__proto__":' in text:
        _refuse_proto(_decode(text), "")
    return escaped_halves(text)


def _pointer_of_refused(value: Any) -> str:
    """Where the first part of a value is that cannot be written: the encoder does not say."""
    pointer = ""
    while True:
        try:
            if not (value is None or isinstance(value, (dict, list, tuple, str, int, float))):
                value = plain(value)
            fields = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
            refused = next(((key, inner) for key, inner in fields if not _is_encodable(inner)), None)
            if refused is None and isinstance(value, dict):
                refuse_twins(value)
        except TwinKeys as twins:
            return f"{pointer}/{escape_pointer(twins.key)}"
        except Exception:
            return pointer
        if refused is None:
            return pointer
        pointer, value = f"{pointer}/{escape_pointer(refused[0])}", refused[1]


def _is_encodable(value: Any) -> bool:
    try:
        _encoded(value)
    except Exception:
        return False
    return True


def escaped_halves(text: str) -> str:
    """A half of a surrogate pair has no UTF-8; it travels as the escape that it came as."""
    return text if text.isascii() else SURROGATES.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def decode_payload(text: str) -> Any:
    """Parses JSON text of somebody else's, with the same limits and one level for the message around them. Raises PayloadProblem."""
    if nests_deeper_than(text, MAX_DEPTH + 1):
        raise PayloadProblem(_TOO_DEEP)
    try:
        value = _decode(text)
    except (ValueError, RecursionError):
        raise PayloadProblem("not JSON") from None
    # Escapes can spell the key in other ways, so any sign of one sends the value through the slow check.
    if "__proto__" in text or "\\u" in text:
        _refuse_proto(value, "")
    return value


def read_any_payload(raw: bytes) -> Any:
    """The same of what may be anything: what is no JSON that can be used is a text."""
    text = raw.decode("utf-8", "replace")
    try:
        return decode_payload(text)
    except PayloadProblem:
        return text


_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"


def nests_deeper_than(text: str, limit: int) -> bool:
    # Two characters are needed per level and few payloads have many brackets, so the scan is rare.
    if len(text) <= 2 * limit or text.count("[") + text.count("{") <= limit:
        return False
    depth = 0
    for char in STRINGS.sub("", text):
        if char in "[{":
            depth += 1
            if depth > limit:
                return True
        elif char in "]}":
            depth -= 1
    return False


def _refuse_proto(value: Any, pointer: str) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            at = f"{pointer}/{escape_pointer(key)}"
            if key == "__proto__":
                raise PayloadProblem("a key named __proto__ is not allowed", at)
            _refuse_proto(inner, at)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _refuse_proto(inner, f"{pointer}/{index}")


def escape_pointer(key: Any) -> str:
    """One step of a JSON Pointer (RFC 6901)."""
    return str(key).replace("~", "~0").replace("/", "~1")


def exceeds(text: str, max_bytes: int) -> bool:
    """Whether the text is longer as UTF-8; most are so short that no counting is needed."""
    return len(text) > max_bytes or (len(text) * 4 > max_bytes and len(text.encode("utf-8", "surrogatepass")) > max_bytes)


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def published(value: Any) -> str:
    """The same as ASCII, for what holds names and messages of others: half of a surrogate pair has no UTF-8."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
