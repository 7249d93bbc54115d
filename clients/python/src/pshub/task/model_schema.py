"""
What is published of models and structs: the schemas that their packages make, where these are wider than what the classes write. Elsewhere
the schema here is wider, and the class in the worker judges.
"""

from __future__ import annotations

import enum
import functools
import re
import sys
from typing import Any

from ..wire.errors import ConfigError
from ..wire.model_form import Node, as_read, changed, core_schema_of, is_own, is_secret, read_name, reads_own
from .definitions import rewritten
from .records import Place, Schema

#: What texts of these formats may be beside that, in classes of Python. Names on the right hold for any text here.
_WIDER = {"email": "idn-email", "uri": "iri", "ipv6": None, "duration": None}
#: Moments with and without an offset.
_MOMENTS: dict[str, list[Schema]] = {form: [{"type": "string", "format": name} for name in (form, f"{form}-local")] for form in ("date-time", "time")}

_KEYED = ("dict", "frozendict", "ordered-dict", "counter")
_AROUND = {"function-after": "schema", "function-before": "schema", "function-wrap": "schema", "default": "schema", "lax-or-strict": "lax_schema"}
#: Keys of these come back from a text.
_AS_KEY = (
    "str", "int", "float", "bool", "decimal", "bytes", "date", "time", "datetime", "timedelta", "uuid", "url", "multi-host-url", "enum", "literal",
    "any", "json-or-python", "union", "function-plain",
)  # fmt: skip


def widened(schema: Any) -> Any:
    """The same where a text of a format may be what the format has not, as a duration with fractions of a second."""

    def widen(part: Schema) -> Schema:
        form = part.get("format")
        if part.get("type") != "string" or form not in _WIDER:
            return part
        rest = {keyword: value for keyword, value in part.items() if keyword != "format"}
        return {**rest, "format": _WIDER[form]} if _WIDER[form] else rest

    return rewritten(schema, widen)


def with_local(schema: Any) -> Any:
    """The same where a moment may have no offset."""

    def widen(part: Schema) -> Schema:
        form = part.get("format")
        if part.get("type") != "string" or form not in _MOMENTS or any(part is each for each in _MOMENTS[form]):
            return part
        return {**{keyword: value for keyword, value in part.items() if keyword not in ("type", "format")}, "anyOf": _MOMENTS[form]}

    return rewritten(schema, widen)


def model_schema(cls: Any, place: Place) -> Schema:
    """Of a model of pydantic. Raises ConfigError for one that would not come back as it was."""
    schema = core_schema_of(cls)
    publish = _Publish(place, {each["ref"]: each for each in schema.get("definitions", ())})
    mode = "serialization" if place.is_result else "validation"
    made: Schema = widened(_generator()(by_alias=True).generate(changed(schema, publish.node), mode=mode))
    return made


class _Publish:
    """Makes of a core schema the one of what travels."""

    def __init__(self, place: Place, definitions: dict[str, Node]) -> None:
        self._place = place
        self._definitions = definitions

    def node(self, node: Node) -> Node:
        kind = node["type"]
        if kind in _KEYED:
            return self._keyed(node)
        if kind == "literal" and any(isinstance(each, enum.Enum) and not isinstance(each, (str, int)) for each in node["expected"]):
            raise self._refusal("pydantic cannot read an enum member in a Literal from JSON; use its value, or the enum")
        if kind == "json" and self._place.is_result:
            return {"type": "str"}
        node = as_read(node)
        # A dataclass lists the names of its fields beside them.
        if "fields" in node and kind != "dataclass":
            self._refuse_unread(node)
        if kind.endswith("-field") and "serialization_alias" in node:
            return {**node, "validation_alias": node["serialization_alias"]}
        if not is_own(node.get("serialization", {})):
            return node
        if reads_own(node):
            return {"type": "any", **({"ref": node["ref"]} if "ref" in node else {})}
        return {key: inner for key, inner in node.items() if key != "serialization"}

    def _keyed(self, node: Node) -> Node:
        keys = node.get("keys_schema", {"type": "any"})
        while keys["type"] in _AROUND or keys["type"] == "definition-ref":
            keys = self._definitions[keys["schema_ref"]] if keys["type"] == "definition-ref" else keys[_AROUND[keys["type"]]]
        numbers = keys["type"] == "literal" and any(not isinstance(each, str) for each in keys["expected"])
        if keys["type"] not in _AS_KEY or is_secret(keys) or numbers:
            raise self._refusal(f"the keys of an object must be strings, and nothing converts them to {keys['type']}; use a list of pairs")
        values = [getattr(each, "value", each) for each in keys.get("members", keys.get("expected", ()))]
        # They travel as texts.
        return node if all(isinstance(each, str) for each in values) else {**node, "keys_schema": {"type": "str"}}

    def _refuse_unread(self, node: Node) -> None:
        of = node.get("model_name") or node.get("dataclass_name") or getattr(node.get("cls"), "__name__", "its class")
        fields = node["fields"]
        for name, field in fields.items() if isinstance(fields, dict) else [(each["name"], each) for each in fields]:
            if field.get("serialization_exclude"):
                told = "is excluded when written, so it would be lost; make it a private attribute, or include it"
                raise self._refusal(f"'{name}' of {of} {told}")
            if field.get("validation_alias") and read_name(field) is None:
                told = "is read only through its AliasPath, inside another field, where nothing writes it; add a name with AliasChoices"
                raise self._refusal(f"'{name}' of {of} {told}")

    def _refusal(self, told: str) -> ConfigError:
        return ConfigError(f"{self._place.what}: {told}. Or pass 'args' or 'result' as a schema instead.")


@functools.cache
def _generator() -> Any:
    """A class that is made where pydantic is."""
    base: Any = sys.modules["pydantic"].json_schema.GenerateJsonSchema

    class Wide(base):  # type: ignore[misc]
        def timedelta_schema(self, schema: Any) -> Schema:
            return {"type": "string"} if self.mode == "serialization" else {"type": ["string", "number"]}

        def datetime_schema(self, schema: Any) -> Schema:
            return _moment("date-time", schema)

        def time_schema(self, schema: Any) -> Schema:
            return _moment("time", schema)

        def decimal_schema(self, schema: Any) -> Schema:
            text = {"type": "string", "format": "decimal"}
            return text if self.mode == "serialization" else {"anyOf": [{"type": "number"}, text]}

        def float_schema(self, schema: Any) -> Schema:
            found: Schema = super().float_schema(schema)
            is_text = self._config.config_dict.get("ser_json_inf_nan") == "strings"
            return {"anyOf": [found, {"enum": ["Infinity", "-Infinity", "NaN"]}]} if is_text else found

        def str_schema(self, schema: Any) -> Schema:
            pattern = schema.get("pattern")
            if isinstance(pattern, re.Pattern) and pattern.flags & ~re.UNICODE:
                # Flags have no place in a schema, and without them it is another pattern.
                schema = {key: value for key, value in schema.items() if key != "pattern"}
            found: Schema = super().str_schema(schema)
            return found

        def set_schema(self, schema: Any) -> Schema:
            return _many(super().set_schema(schema))

        def frozenset_schema(self, schema: Any) -> Schema:
            return _many(super().frozenset_schema(schema))

    return Wide


def _moment(form: str, schema: Any) -> Schema:
    zone = schema.get("tz_constraint")
    return {"type": "string", "format": f"{form}-local" if zone == "naive" else form} if zone is not None else {"anyOf": _MOMENTS[form]}


def _many(schema: Schema) -> Schema:
    """The same item twice is no mistake: a set has it once."""
    return {keyword: value for keyword, value in schema.items() if keyword != "uniqueItems"}
