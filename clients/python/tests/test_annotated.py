"""What ``Annotated`` says beside a hint."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any

import pytest

from pshub import ConfigError, task


class Said:
    """As annotated-types, pydantic and msgspec have them."""

    def __init__(self, **said: Any) -> None:
        self.__dict__.update(said)


def test_what_annotated_says() -> None:
    @task("said:1.0")
    def said(
        number: Annotated[int, Said(gt=0, le=9), "How many"],
        name: Annotated[str, Said(metadata=[Said(min_length=2, max_length=5), Said(pattern="^[a-z]+$")])],
        many: Annotated[list[Annotated[float, Said(multiple_of=0.5)]], Said(min_length=0, max_length=3)],
        wait: Annotated[timedelta, Said(ge=timedelta(seconds=1))],
        own: Annotated[int | None, {"minimum": 3, "deprecated": True}] = None,
        other: Annotated[bool, object(), Said(documentation="Whether", gt=True)] = False,
    ) -> None: ...

    assert said.args is not None and said.args["properties"] == {
        "number": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9, "description": "How many"},
        "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
        "many": {"type": "array", "items": {"type": "number", "multipleOf": 0.5}, "maxItems": 3},
        "wait": {"type": "number", "minimum": 1.0},
        "own": {"type": ["integer", "null"], "minimum": 3, "deprecated": True},
        "other": {"type": "boolean", "description": "Whether", "default": False},
    }


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        (Annotated[Decimal, Said(gt=0)], "parameter 'x': 'gt' says nothing of a value that is string in JSON"),
        (Annotated[int, Said(min_length=1)], "'min_length' says nothing of a value that is integer"),
        (Annotated[Decimal, Said(ge=Decimal(0))], r"'ge' is Decimal\('0'\), and a bound of JSON Schema is a finite number"),
        (Annotated[int, Said(lt=float("inf"))], "'lt' is inf, and a bound"),
        (Annotated[str, {"pattern": "("}], "not a valid JSON Schema"),
    ],
)
def test_bounds_that_would_hold_for_nothing_are_refused(hint: Any, said: str) -> None:
    def handler(x: Any) -> None: ...

    handler.__annotations__ = {"x": hint}
    with pytest.raises(ConfigError, match=said):
        task("said:1.0")(handler)
