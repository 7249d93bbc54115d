"""What is said of a value that fits none of several: by those that are for a value of its type."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Literal, NamedTuple, Optional, Union

import pytest

from pshub import task
from pshub.task.schema import compile_own


class Spot(NamedTuple):
    x: int


NONE = "fits none of what it may be"


@pytest.mark.parametrize(
    ("hint", "value", "told"),
    [
        (Optional[datetime], "x", {"": "must match format date-time"}),
        (Optional[datetime], 5, {"": "must be string or null"}),
        (Union[datetime, date], "x", {"": f"{NONE}: must match format date-time, or must match format date"}),
        (Union[int, datetime], "x", {"": "must match format date-time"}),
        (Optional[list[int]], ["x"], {"": NONE, "/0": "must be integer"}),
        (Optional[Literal["a", "b"]], "c", {"": 'must be one of "a", "b"'}),
        (Optional[Spot], 5, {"": "must be array or null"}),
        (list[Optional[date]], [None, "x"], {"/1": "must match format date"}),
    ],
)
def test_unions_of_hints(hint: Any, value: Any, told: dict[str, str]) -> None:
    def given(v: Any) -> None: ...

    given.__annotations__ = {"v": hint}
    declared = task("given:1.0")(given)
    assert declared.check_args is not None
    assert {each["pointer"][2:]: each["message"] for each in declared.check_args({"v": value})} == told


def test_choices_of_schemas() -> None:
    many = compile_own({"oneOf": [{"const": n} for n in range(9)]}, "x")
    assert [each["message"] for each in many(10)] == [f"{NONE}: {', or '.join(f'must be {n}' for n in range(5))}, and 4 more"]
    assert [each["message"] for each in compile_own({"oneOf": [{}, {}]}, "x")(1)] == ["fits more than one of what it may be"]
    fields = compile_own({"anyOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]}, "x")
    assert [each["message"] for each in fields({})] == [f"{NONE}: /a is required, or /b is required"]
