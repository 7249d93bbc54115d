"""
Models of pydantic as they travel: what a model writes is what it reads. Its own dump is made for others to look at: it hides secrets,
leaves fields out, names them as nobody reads them. The serializer here is made of the same core schema, with what pydantic itself reads
in place of that. A serializer of the user's counts where a validator of the user's reads what it wrote.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import weakref
from collections.abc import Callable
from typing import Any

Node = dict[str, Any]

#: What is under these is no schema.
_NO_SCHEMA = {"config", "metadata", "cls", "function", "default", "default_factory", "expected", "members"}
#: Types of nodes that only say more of the one in them.
_AROUND = ("default", "nullable", "function-after", "model", "definitions")
#: Those of which pydantic reads nothing by itself.
_READ_BY_USER = ("function-before", "function-wrap", "function-plain", "is-instance", "is-subclass", "callable", "any")
_OWN = ("function-plain", "function-wrap")
#: In place of what the class says of its dump: what is read without a word, and without loss.
_WRITTEN = {"ser_json_timedelta": "iso8601", "ser_json_temporal": "iso8601"}

_writers: weakref.WeakKeyDictionary[type, Callable[[Any], Any]] = weakref.WeakKeyDictionary()


def is_model(cls: Any) -> bool:
    """Also of a dataclass of pydantic."""
    return isinstance(cls, type) and hasattr(cls, "__pydantic_serializer__")


def written(value: Any) -> Any:
    """An instance as plain JSON data."""
    cls = type(value)
    write = _writers.get(cls)
    if write is None:
        write = _writers[cls] = _writer(cls)
    return write(value)


def core_schema_of(cls: Any) -> Node:
    """Raises what pydantic raises where names in its hints lead nowhere."""
    if not cls.__pydantic_complete__:
        rebuild: Any = getattr(cls, "model_rebuild", None)
        rebuild() if rebuild else sys.modules["pydantic"].dataclasses.rebuild_dataclass(cls)
    schema: Node = cls.__pydantic_core_schema__
    return schema


def changed(schema: Any, change: Callable[[Node], Node]) -> Any:
    """A core schema with ``change`` made of each node, from the outside in."""
    if isinstance(schema, (list, tuple)):
        return type(schema)(changed(inner, change) for inner in schema)
    if not isinstance(schema, dict):
        return schema
    node = change(schema) if isinstance(schema.get("type"), str) else schema
    is_node = isinstance(node.get("type"), str)
    return {key: inner if is_node and key in _NO_SCHEMA else changed(inner, change) for key, inner in node.items()}


def _writer(cls: Any) -> Callable[[Any], Any]:
    core: Any = sys.modules["pydantic_core"]
    schema = core_schema_of(cls)

    def make(keeps_own: bool) -> Any:
        rewritten = changed(schema, lambda node: _to_write(node, keeps_own))
        try:
            # Serializers that classes have already would be taken in the place of these.
            return core.SchemaSerializer(rewritten, _use_prebuilt=False)
        except TypeError:
            # Older versions cannot be told so.
            return core.SchemaSerializer(changed(rewritten, _stood_in_for))

    plain, own = make(False), make(True)

    def write(value: Any) -> Any:
        try:
            text = plain.to_json(value, by_alias=True, warnings="error")
        except core.PydanticSerializationError:
            # A validator made another class of it, which only the serializer of the user's knows.
            text = own.to_json(value, by_alias=True)
        return json.loads(text, object_pairs_hook=_with_unlike_keys)

    return write


def _with_unlike_keys(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """pydantic writes 1 and "1" of one dict as the same key."""
    read = dict(fields)
    if len(read) < len(fields):
        raise ValueError("two keys of a dict are the same string in JSON")
    return read


class _StandIn(type):
    """In place of a class, whose instances count as its own."""

    stands_for: type

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.stands_for)


def _stood_in_for(node: Node) -> Node:
    if node["type"] not in ("model", "dataclass"):
        return node
    return {**node, "cls": _StandIn(node["cls"].__name__, (), {"stands_for": node["cls"]})}


def _to_write(node: Node, keeps_own: bool) -> Node:
    node = as_read(node)
    own = node.get("serialization", {})
    if node["type"] == "any" and not own:
        return {**node, "serialization": {"type": "function-plain", "function": _of_any}}
    if node["type"] == "json":
        inner = node.get("schema", {"type": "any"})
        return {**node, "serialization": {"type": "function-wrap", "function": lambda value, go_on: json.dumps(go_on(value)), "schema": inner}}
    if not keeps_own and is_own(own) and not reads_own(node):
        return {key: inner for key, inner in node.items() if key != "serialization"}
    return node


def as_read(node: Node) -> Node:
    """The node with all that does not depend on whose serializers count."""
    if node["type"] in ("model", "dataclass", "typed-dict"):
        return _class_as_read(node)
    if node["type"] in ("model-field", "typed-dict-field", "dataclass-field"):
        rest = {key: inner for key, inner in node.items() if key not in ("serialization_alias", "serialization_exclude_if")}
        name = read_name(node)
        return {**rest, "serialization_alias": name} if name else rest
    if is_secret(node):
        shown = node["serialization"]
        bare = {"type": "function-plain", "function": _bare, "return_schema": node["json_schema"]["schema"]}
        return {**node, "serialization": {**bare, "when_used": shown.get("when_used", "always")}}
    return node


def is_secret(node: Node) -> bool:
    function = node.get("serialization", {}).get("function")
    return node["type"] == "json-or-python" and _is_of_library(function) and "secret" in getattr(function, "__name__", "")


def _class_as_read(node: Node) -> Node:
    config = {**node.get("config", {}), **_WRITTEN}
    config["ser_json_bytes"] = config.get("val_json_bytes", "utf8")
    if config.get("ser_json_inf_nan") != "strings":
        # As the numbers that they are, which no JSON has: whoever writes the whole says so.
        config["ser_json_inf_nan"] = "constants"
    by_alias = config.get("validate_by_alias", True)
    extra = config.get("extra_fields_behavior", "ignore")

    def inside(part: Node) -> Node:
        if part is not node and part["type"] in ("model", "dataclass", "typed-dict"):
            # Has a configuration of its own.
            return part
        if part["type"] in ("model-fields", "dataclass-args", "typed-dict") and part.get("extra_behavior", extra) != "ignore":
            # What refuses other fields, or keeps them, would not read these.
            part = {**part, "computed_fields": []}
            if part["type"] == "model-fields" and part.get("extra_behavior", extra) == "allow":
                part.setdefault("extras_schema", {"type": "any"})
        if part["type"].endswith("-field") and not by_alias:
            part = {key: inner for key, inner in part.items() if key != "validation_alias"}
        return part

    return {**inside(node), "config": config, **({"schema": _of_fields(node["schema"], inside)} if "schema" in node else {})}


def _of_fields(schema: Any, change: Callable[[Node], Node]) -> Any:
    """Down to the fields of a class, and no further."""
    if schema["type"] in ("model-fields", "dataclass-args"):
        fields = schema["fields"]
        read = {name: change(each) for name, each in fields.items()} if isinstance(fields, dict) else [change(each) for each in fields]
        return change({**schema, "fields": read})
    return {**schema, "schema": _of_fields(schema["schema"], change)} if "schema" in schema else schema


def read_name(field: Node) -> str | None:
    """The name beside that of the field itself by which it is read; of several the first."""
    alias = field.get("validation_alias")
    if isinstance(alias, str) or alias is None:
        return alias
    paths = [[path] if isinstance(path, str) else path for path in alias]
    # A single path comes without a list around it.
    whole = [alias] if paths and not isinstance(alias[0], list) else paths
    return next((path[0] for path in whole if len(path) == 1), None)


def is_own(serialization: Node) -> bool:
    """Whether it is a serializer that the user wrote."""
    return serialization.get("type") in _OWN and not _is_of_library(serialization.get("function"))


def _is_of_library(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).partition(".")[0] in ("pydantic", "pydantic_core", "pshub")


def reads_own(node: Node) -> bool:
    """Whether what is read there is first given to a validator of the user's, or is of a class that only the user knows."""
    while node["type"] in _AROUND:
        node = node["schema"]
    if node["type"].startswith("function-"):
        return not _is_of_library(node["function"].get("function"))
    return node["type"] in _READ_BY_USER


def _bare(secret: Any) -> Any:
    return secret.get_secret_value() if hasattr(secret, "get_secret_value") else secret


def _of_any(value: Any) -> Any:
    """What a hint says nothing of, by what it is."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, dict):
        return {key: _of_any(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_of_any(inner) for inner in value]
    if is_model(type(value)):
        return written(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _of_any(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return _bare(value)
