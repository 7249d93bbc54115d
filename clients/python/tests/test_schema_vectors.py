"""What all languages say of the schemas in clients/vectors: those of the form, and schemas.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conftest import ROOT, vectors
from pshub.task.schema import UnusableSchema, Validate, compile_foreign, compile_own
from pshub.wire.errors import ConfigError

LANGUAGE = "python"


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _deep() -> Any:
    schema: Any = {"type": "string"}
    for _ in range(2_000):
        schema = _object({"a": schema})
    return schema


def _many_objects() -> Any:
    branches = [_object({"kind": {"const": f"k{i}"}, "n": {"type": "integer"}}) for i in range(1_000)]
    return _object({"v": {"oneOf": branches}})


#: Schemas that are too large for a file; test/browser/form-schemas.ts makes the same.
GENERATORS: dict[str, Callable[[], Any]] = {
    "manyBranches": lambda: _object({"v": {"anyOf": [{"const": f"k{i}"} for i in range(10_000)]}}),
    "manyObjects": _many_objects,
    "hugeEnum": lambda: _object({"city": {"enum": [f"city {i}" for i in range(20_000)]}}),
    "deep": _deep,
    "wide": lambda: {"type": "object", "properties": {f"f{i}": {"type": "string"} for i in range(5_000)}},
}


#: So large that they take seconds.
SLOW = {"hostile-many-branches", "hostile-many-objects", "hostile-wide", "hostile-huge-enum"}


def _cases() -> Iterator[Any]:
    for path in sorted((ROOT / "clients/vectors/schemas").iterdir()):
        case = json.loads(path.read_text(encoding="utf-8"))
        if "generate" in case:
            case["schema"] = GENERATORS[case["generate"]]()
        marks = [pytest.mark.long] if path.stem in SLOW else []
        yield pytest.param(case, id=path.stem, marks=marks)
    for case in vectors("schemas.json")["cases"]:
        yield pytest.param(case, id=case["title"])


def _text(case: Any) -> str:
    if case.get("generate") != "deep":
        return json.dumps(case["schema"])
    # json.dumps itself would give up.
    start = '{"type":"object","required":["a"],"properties":{"a":'
    return f'{start * 2_000}{{"type":"string"}}{"}}" * 2_000}'


def _values(case: Any) -> tuple[list[Any], list[Any]]:
    entered = [{"pointers": [each.get("pointer")], **each} for each in case.get("invalid", [])]
    return [*case.get("valid", []), *case.get("fits", [])], [*entered, *case.get("fails", [])]


def _compiled(case: Any) -> list[Validate]:
    foreign_only = case.get("uncheckedBy", {}).get(LANGUAGE)
    unusable = case.get("unusable") or case.get("unusableIn", {}).get(LANGUAGE)
    compiled: list[Validate] = []
    if unusable:
        with pytest.raises(ConfigError):
            compile_own(case["schema"], "it")
    else:
        compiled.append(compile_own(case["schema"], "it"))
    if unusable or foreign_only:
        with pytest.raises(UnusableSchema):
            compile_foreign(_text(case))
    else:
        compiled.append(compile_foreign(_text(case)))
    return compiled


@pytest.mark.parametrize("case", list(_cases()))
def test_schemas(case: Any) -> None:
    fits, fails = _values(case)
    for check in _compiled(case):
        for value in fits:
            assert check(value) == [], value
        for failing in fails:
            told = {problem["pointer"] for problem in check(failing["value"])}
            # It may tell more inside of a choice: why each branch does not fit.
            inside = failing.get("inside", [])
            more = {each for each in told if any(each == place or each.startswith(f"{place}/") for place in inside)}
            expected = set(failing["pointers"])
            assert told >= expected and told - more <= expected, failing["value"]
