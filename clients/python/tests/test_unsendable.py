"""Values that JSON does not have are refused with their place."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest

from pshub import TaskError
from pshub.wire.canonical import canonical
from pshub.wire.failures import failure_of
from pshub.wire.payload import PayloadProblem, encode_payload


@dataclass
class Order:
    lines: list[Any]


@pytest.mark.parametrize(
    "value, pointer",
    [
        (object(), ""),
        ({"a/b": [0, {"x": object()}]}, "/a~1b/1/x"),
        ({"n": [1.5, float("nan")]}, "/n/1"),
        ({"n": float("inf")}, "/n"),
        ((1, b"x"), "/1"),
        ({"order": Order([1, 1j])}, "/order/lines/1"),
        ({1: {2: range(3)}}, "/1/2"),
        ({"a/b": [{1: "a", "1": "b"}]}, "/a~1b/0/1"),
        ({date(2026, 11, 24): 1, "2026-11-24": 2}, "/2026-11-24"),
        (Order([{None: 1, "null": 2}]), "/lines/0/null"),
    ],
)
def test_the_place_is_told(value: Any, pointer: str) -> None:
    with pytest.raises(PayloadProblem) as refused:
        encode_payload(value)
    assert refused.value.problem["pointer"] == pointer
    assert refused.value.problem["message"].startswith("not JSON: ")


def test_data_of_an_error_that_cannot_travel_says_why() -> None:
    told = json.loads(failure_of(TaskError("closed", data={"at": [b"x"]})).text)
    assert told["message"] == "closed"
    assert told["data"]["problems"][0]["pointer"] == "/data/at/0"


def test_large_integers_stay_what_they_are_where_payloads_are_compared() -> None:
    assert canonical({"b": 2**62, "a": -(2**53) - 1}) == '{"a":-9007199254740993,"b":4611686018427387904}'
