"""
What the references of a schema lead to: pointers, whether they name something in it by a pointer, by an anchor, by the ``$id`` of the whole or
by the ``$id`` of a part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin

from ..wire.payload import escape_pointer
from .schema_keywords import OF_MANY, OF_NAMES, OF_ONE

#: What a reference counts from while nothing has an address: no host can have this name (RFC 2606).
_NOWHERE = "http://schema.invalid/"


class Place(NamedTuple):
    """A part of a schema, and where the resource begins that its references count from."""

    pointer: str
    resource: str
    address: str


WHOLE = Place("", "", _NOWHERE)


def place_of(schema: Mapping[str, Any], outer: Place) -> Place:
    named = schema.get("$id")
    address = _absolute(named, outer.address) if isinstance(named, str) else None
    return outer if address is None else Place(outer.pointer, outer.pointer, address.split("#", 1)[0])


def _absolute(reference: str, address: str) -> str | None:
    try:
        # An address that has no path, as one of urn: has none, joins nothing but a fragment.
        return address + reference if reference.startswith("#") else urljoin(address, reference)
    except ValueError:
        return None


class References:
    def __init__(self, schema: Any) -> None:
        self._names: dict[str, str] = {}
        self._resources = {_NOWHERE: ""}
        self._visit(schema, WHOLE)

    def _visit(self, schema: Any, outer: Place) -> None:
        if not isinstance(schema, Mapping):
            return
        place = place_of(schema, outer)
        if place is not outer:
            self._resources[place.address] = place.pointer
        for name in (schema.get("$anchor"), schema.get("$dynamicAnchor")):
            if isinstance(name, str):
                self._names[f"{place.resource}#{name}"] = place.pointer
        for keyword, value in schema.items():
            at = f"{place.pointer}/{escape_pointer(keyword)}"
            if keyword in OF_ONE:
                self._visit(value, place._replace(pointer=at))
            elif keyword in OF_MANY and isinstance(value, list):
                for index, inner in enumerate(value):
                    self._visit(inner, place._replace(pointer=f"{at}/{index}"))
            elif keyword in OF_NAMES and isinstance(value, Mapping):
                for name, inner in value.items():
                    self._visit(inner, place._replace(pointer=f"{at}/{escape_pointer(name)}"))

    def pointer_of(self, reference: str, place: Place) -> str | None:
        """None: it leads out of the schema, or to no anchor."""
        document, _, fragment = (_absolute(reference, place.address) or "#").partition("#")
        resource = self._resources.get(document)
        if resource is None:
            return None
        inside = unquote(fragment)
        return resource + inside if inside == "" or inside.startswith("/") else self._names.get(f"{resource}#{inside}")
