"""Schemas that all languages reject, in the same words, and digests of declarations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conftest import vectors
from pshub import task
from pshub.task.schema import UnusableSchema, compile_foreign, compile_own
from pshub.wire.errors import ConfigError


def _cases(file: str) -> list[Any]:
    return [pytest.param(case, id=case["title"]) for case in vectors(file)["cases"]]


@pytest.mark.parametrize("case", _cases("schema-refusals.json"))
def test_rejected_schemas(case: Any) -> None:
    with pytest.raises(ConfigError) as rejected:
        compile_own(case["schema"], "it")
    assert str(rejected.value) == f"it is not a valid JSON Schema (2020-12): {case['says']}"
    with pytest.raises(UnusableSchema):
        compile_foreign(json.dumps(case["schema"]))


@pytest.mark.parametrize("case", _cases("digests.json"))
def test_digests(case: Any) -> None:
    args, result, yields = (None if case[name] is None else json.loads(case[name]) for name in ("args", "result", "yields"))
    declared = task("a:1.0", args=args, result=result, yields=yields)
    assert declared(lambda args: args).digest == case["digest"]
