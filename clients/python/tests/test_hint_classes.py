"""Classes as hints: what they make of their values, and those that are refused."""

from __future__ import annotations

import enum
from dataclasses import InitVar, dataclass, field
from typing import Any, Literal, TypedDict

import pytest

from pshub import ConfigError, task
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
        (dict[tuple[int, int], int], "the keys of an object are texts"),
        (bytes, "nothing is known about <class 'bytes'>"),
        (Endless, "Endless holds itself"),
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
