"""Classes as hints: what they make of their values, and those that are refused."""

from __future__ import annotations

import enum
from dataclasses import InitVar, dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict, Union

import pytest

from pshub import ConfigError, task
from pshub.task.schema import compile_own
from pshub.wire.payload import PayloadProblem, decode_payload, encode_payload
from test_hints import echo


class Strange(enum.Enum):
    BYTES = b"bytes"


@dataclass
class Endless:
    inner: Endless | None = None


@dataclass
class Unread:
    inner: Nowhere  # type: ignore[name-defined]  # noqa: F821


class UnreadKeys(TypedDict):
    inner: Nowhere  # type: ignore[name-defined]  # noqa: F821


@dataclass
class Secret:
    word: str
    salt: InitVar[str]


class Corner(enum.Enum):
    TOP = (0, 1)
    LIST = [1]
    ONE = 1


@dataclass
class Box:
    width: int
    height: int
    area: int = field(init=False)

    def __post_init__(self) -> None:
        self.area = self.width * self.height


@dataclass
class Unset:
    part: int = field(init=False)


@pytest.mark.parametrize("member", Corner)
def test_values_of_an_enum_are_known_as_they_travel(member: Corner) -> None:
    declared = echo(Corner)
    travels = decode_payload(encode_payload(member))
    assert declared.check_args({"x": travels}) == [] and declared.check_args({"x": True}) != []
    assert declared.run({"x": travels}, None) is member and declared.read_result(travels) is member


def test_a_field_that_a_dataclass_makes_itself_travels_and_is_made_again() -> None:
    declared = echo(Box)
    travels = decode_payload(encode_payload(Box(2, 3)))
    assert travels == {"width": 2, "height": 3, "area": 6}
    assert declared.check_result(travels) == [] and declared.check_args({"x": travels}) == []
    assert declared.read_result({**travels, "area": 7}) == Box(2, 3)
    assert declared.run({"x": {"width": 2, "height": 3}}, None) == Box(2, 3)
    assert declared.check_result({**travels, "area": "six"}) != []


def test_a_schema_that_is_no_json_is_refused() -> None:
    with pytest.raises(ConfigError, match="'args' is not a valid JSON Schema"):
        task("odd:1.0", args={"default": {1, 2}})(lambda args: None)


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        (Strange, "the values of Strange must be JSON"),
        (dict[tuple[int, int], int], "the keys of an object must be strings"),
        (bytes, "<class 'bytes'> has no JSON form"),
        (Endless, "Endless is recursive"),
        (Literal[b"x"], "the values of a Literal must be JSON"),
        (Unread, "the hints of Unread cannot be read"),
        (UnreadKeys, "the hints of UnreadKeys cannot be read"),
        (Secret | None, "'salt' of Secret is an InitVar"),
    ],
)
def test_hints_that_are_refused(hint: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        echo(hint)


def test_a_value_that_fails_while_it_is_written() -> None:
    with pytest.raises(PayloadProblem, match="AttributeError: .*no attribute 'part'"):
        encode_payload(Unset())


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


class Spot(NamedTuple):
    x: int


NONE = "matches none of the alternatives"


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
    assert [each["message"] for each in compile_own({"oneOf": [{}, {}]}, "x")(1)] == ["matches more than one of the alternatives"]
    fields = compile_own({"anyOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]}, "x")
    assert [each["message"] for each in fields({})] == [f"{NONE}: /a is required, or /b is required"]


def test_items_that_nothing_evaluated_are_named() -> None:
    pair = compile_own({"prefixItems": [{}], "unevaluatedItems": False}, "x")
    assert pair([1, 2, 3]) == [{"pointer": f"/{at}", "message": "is not a known item"} for at in (1, 2)]
    assert compile_own({"prefixItems": [{}], "unevaluatedItems": {"type": "integer"}}, "x")([1, 2, "a"]) == [
        {"pointer": "/2", "message": "must be integer"}
    ]
