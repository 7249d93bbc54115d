"""
Schemas as validators are given them: keywords that all languages check and nothing else, and references as pointers into the schema
(``#/$defs/name``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ..wire.payload import escape_pointer
from .formats import FORMATS
from .local_references import WHOLE, Place, References, place_of
from .patterns import NotAPattern, PatternBeyond, advice_for, translated
from .schema_keywords import CHECKED, HIDES_BESIDE, OF_MANY, OF_NAMES, OF_ONE, wrong_keyword

#: Schemas under these keywords look at the same value.
_IN_PLACE = {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}
#: They may stand beside a reference that hides what is beside it.
_BESIDE = {"$ref", "$defs", "definitions"}


class SchemaProblem(ValueError):
    """A schema is rejected: what is wrong with it, behind a pointer to that."""

    def __init__(self, pointer: str, words: str) -> None:
        super().__init__(f"{pointer or 'it'} {words}")


def read_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Raises SchemaProblem."""
    return _Reading(schema).read()


class _Reading:
    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._pointer_of = References(schema).pointer_of
        self._places: set[str] = set()
        self._references: list[tuple[Place, dict[str, Any]]] = []
        # Of a schema's pointer, the pointers of those that look at the same value.
        self._same: dict[str, list[str]] = {}

    def read(self) -> dict[str, Any]:
        read: dict[str, Any] = self._schema_at(self._schema, WHOLE, False)
        for place, part in self._references:
            self._follow(place, part)
        for place, _ in self._references:
            if self._meets_itself(place.pointer):
                raise SchemaProblem(f"{place.pointer}/$ref", "refers to itself endlessly")
        return read

    def _schema_at(self, schema: Any, outer: Place, hides: bool) -> Any:
        """``hides``: its draft passes over what is beside a reference."""
        self._places.add(outer.pointer)
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            raise SchemaProblem(outer.pointer, "must be a schema: an object, true or false")
        draft = schema.get("$schema")
        if isinstance(draft, str):
            hides = HIDES_BESIDE.match(draft) is not None
        place = place_of(schema, outer)
        for keyword, value in schema.items():
            wrong = wrong_keyword(keyword, value)
            if wrong is not None:
                raise SchemaProblem(_pointer_to(place, keyword), wrong)
        part = {
            keyword: self._under(keyword, value, place, hides)
            for keyword, value in schema.items()
            if keyword in CHECKED and (keyword != "format" or value in FORMATS)
        }
        if "$ref" not in part:
            return part
        hidden = next((keyword for keyword in part if keyword not in _BESIDE), None) if hides else None
        if hidden is not None:
            raise SchemaProblem(
                _pointer_to(place, "$ref"),
                f"hides '{hidden}' beside it in the draft that '$schema' names; put the '$ref' under 'allOf', or leave '$schema' out",
            )
        self._references.append((place, part))
        return part

    def _under(self, keyword: str, value: Any, place: Place, hides: bool) -> Any:
        def inside(inner: Any, *steps: Any) -> Any:
            pointer = _pointer_to(place, keyword, *steps)
            if keyword in _IN_PLACE:
                self._same.setdefault(place.pointer, []).append(pointer)
            return self._schema_at(inner, place._replace(pointer=pointer), hides)

        if keyword in OF_ONE:
            return inside(value)
        if keyword in OF_MANY:
            return [inside(inner, index) for index, inner in enumerate(value)]
        if keyword == "pattern":
            _check_pattern(value, _pointer_to(place, keyword))
        if keyword not in OF_NAMES:
            return value
        if keyword == "patternProperties":
            for name in value:
                _check_pattern(name, _pointer_to(place, keyword, name))
        return {name: inside(inner, name) for name, inner in value.items()}

    def _follow(self, place: Place, part: dict[str, Any]) -> None:
        pointer = self._pointer_of(part["$ref"], place)
        if pointer is None or pointer not in self._places:
            raise SchemaProblem(_pointer_to(place, "$ref"), "refers to no schema within this one; put the schema under '$defs'")
        self._same.setdefault(place.pointer, []).append(pointer)
        part["$ref"] = "#" + quote(pointer, safe="/")

    def _meets_itself(self, start: str) -> bool:
        seen: set[str] = set()
        waiting = list(self._same.get(start, ()))
        while waiting:
            pointer = waiting.pop()
            if pointer == start:
                return True
            if pointer not in seen:
                seen.add(pointer)
                waiting += self._same.get(pointer, ())
        return False


def _check_pattern(pattern: str, pointer: str) -> None:
    try:
        translated(pattern)
    except NotAPattern:
        words = "must be a regular expression of ECMA-262 with its flag u"
        raise SchemaProblem(pointer, words + advice_for(pattern)) from None
    except PatternBeyond as beyond:
        raise SchemaProblem(pointer, f"cannot be checked by this client: {beyond}") from None


def _pointer_to(place: Place, *steps: Any) -> str:
    return "/".join([place.pointer, *(escape_pointer(step) for step in steps)])
