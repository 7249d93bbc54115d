"""What hints promise: their schemas, what handlers and callers are given, and what is said of a value that none of it takes."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict, Union
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from conftest import eventually
from job_tasks import hub, serve  # noqa: F401
from pshub import Hub, InvalidArgs, InvalidResult, Worker, task
from pshub.task.misfit import Misfit
from pshub.wire.payload import PayloadProblem, decode_payload, encode_payload

ID = UUID("12345678-1234-5678-1234-567812345678")
NOON = datetime(2026, 11, 24, 12, 30, tzinfo=timezone.utc)


class Colour(str, enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Spot(NamedTuple):
    at: datetime
    value: float = 1.0


@dataclass
class Line:
    id: UUID
    price: Decimal
    colour: Colour = Colour.RED


@dataclass
class Order:
    lines: list[Line]
    due: date = date(2026, 1, 2)
    spots: list[Spot] = field(default_factory=list)


class Options(TypedDict, total=False):
    since: datetime
    level: Level


Number = NewType("Number", int)


def echo(hint: Any) -> Any:
    """A task that is given, and returns, what the hint says."""

    def handler(x: Any) -> Any:
        return x

    handler.__annotations__ = {"x": hint, "return": hint}
    return task("echo:1.0")(handler)


SPOT = [{"type": "string", "format": "date-time"}, {"type": "number", "default": 1.0}]
CASES: list[tuple[Any, Any, Any, Any]] = [
    # hint, schema, in Python, as it travels
    (datetime, {"type": "string", "format": "date-time"}, NOON, "2026-11-24T12:30:00Z"),
    (datetime, {"type": "string", "format": "date-time"}, NOON.replace(microsecond=250_000), "2026-11-24T12:30:00.250000Z"),
    (date, {"type": "string", "format": "date"}, date(987, 6, 5), "0987-06-05"),
    (time, {"type": "string", "format": "time"}, time(9, 5, tzinfo=timezone(timedelta(hours=-2, minutes=-30))), "09:05:00-02:30"),
    (timedelta, {"type": "number"}, timedelta(minutes=1, milliseconds=-1), 59.999),
    (UUID, {"type": "string", "format": "uuid"}, ID, str(ID)),
    (Decimal, {"type": "string", "format": "decimal"}, Decimal("12.50"), "12.50"),
    (Decimal, {"type": "string", "format": "decimal"}, Decimal("1E+3"), "1E+3"),
    (Colour, {"enum": ["red", "blue"]}, Colour.BLUE, "blue"),
    (Level, {"enum": [1, 2]}, Level.HIGH, 2),
    (Literal[Colour.RED, 7], {"enum": ["red", 7]}, Colour.RED, "red"),
    (Number, {"type": "integer"}, 5, 5),
    (set[int], {"type": "array", "items": {"type": "integer"}}, {8, 1}, [1, 8]),
    (frozenset, {"type": "array"}, frozenset({"a"}), ["a"]),
    (tuple, {"type": "array"}, (1, "a"), [1, "a"]),
    (tuple[()], {"type": "array", "maxItems": 0}, (), []),
    (tuple[date, ...], {"type": "array", "items": {"type": "string", "format": "date"}}, (date(2026, 1, 2),), ["2026-01-02"]),
    (
        dict[UUID, timedelta],
        {"type": "object", "propertyNames": {"type": "string", "format": "uuid"}, "additionalProperties": {"type": "number"}},
        {ID: timedelta(seconds=2)},
        {str(ID): 2.0},
    ),
    (
        dict[int, str],
        {"type": "object", "propertyNames": {"pattern": "^-?[0-9]+$"}, "additionalProperties": {"type": "string"}},
        {-7: "a"},
        {"-7": "a"},
    ),
    (
        dict[Colour, int],
        {"type": "object", "propertyNames": {"enum": ["red", "blue"]}, "additionalProperties": {"type": "integer"}},
        {Colour.RED: 1},
        {"red": 1},
    ),
    (
        Spot,
        {"type": "array", "prefixItems": SPOT, "items": False, "minItems": 1},
        Spot(NOON),
        ["2026-11-24T12:30:00Z", 1.0],
    ),
    (
        Options,
        {
            "type": "object",
            "properties": {"since": {"type": "string", "format": "date-time"}, "level": {"enum": [1, 2]}},
            "additionalProperties": False,
        },
        {"since": NOON, "level": Level.LOW},
        {"since": "2026-11-24T12:30:00Z", "level": 1},
    ),
    (
        Union[datetime, Colour, list[Line], str, None],
        None,
        [Line(ID, Decimal("1.0"))],
        [{"id": str(ID), "price": "1.0", "colour": "red"}],
    ),
    (Union[datetime, Colour, str, None], None, NOON, "2026-11-24T12:30:00Z"),
    (Union[datetime, Colour, str, None], None, Colour.RED, "red"),
    (Union[datetime, Colour, str, None], None, "green", "green"),
    (Union[datetime, Colour, str, None], None, None, None),
    (Union[Order, Line], None, Line(ID, Decimal(1)), {"id": str(ID), "price": "1", "colour": "red"}),
]


@pytest.mark.parametrize(("hint", "schema", "value", "travels"), CASES)
def test_a_hint_gives_a_schema_and_is_kept_both_ways(hint: Any, schema: Any, value: Any, travels: Any) -> None:
    declared = echo(hint)
    if schema is not None:
        assert declared.args["properties"]["x"] == schema and declared.result == schema
    text = encode_payload({"x": value})
    assert decode_payload(text) == {"x": travels}
    assert declared.check_args({"x": travels}) == []
    found = declared.run({"x": travels}, None)
    assert found == value and type(found) is type(value)
    read = declared.read_result(travels)
    assert read == value and type(read) is type(value)


def test_classes_hold_each_other_and_have_defaults() -> None:
    declared = echo(Order)
    schema = declared.args["properties"]["x"]
    assert schema["properties"]["due"] == {"type": "string", "format": "date", "default": "2026-01-02"}
    assert schema["properties"]["lines"]["items"]["properties"]["colour"] == {"enum": ["red", "blue"], "default": "red"}
    came = {"lines": [{"id": str(ID), "price": "0.10"}], "spots": [["2026-11-24T13:30:00+01:00"]]}
    order = Order([Line(ID, Decimal("0.10"))], spots=[Spot(NOON)])
    assert declared.run({"x": came}, None) == order
    assert decode_payload(encode_payload(order))["lines"] == [{"id": str(ID), "price": "0.10", "colour": "red"}]


def test_defaults_are_named_as_they_travel() -> None:
    @task("defaults:1.0")
    def defaults(at: datetime = NOON, price: Decimal = Decimal("1.5"), tags: set[str] = frozenset("ba")) -> None: ...  # type: ignore[assignment]

    assert defaults.args is not None
    found = {name: each.get("default") for name, each in defaults.args["properties"].items()}
    assert found == {"at": "2026-11-24T12:30:00Z", "price": "1.5", "tags": ["a", "b"]}


@pytest.mark.parametrize(
    ("hint", "came", "pointer", "said"),
    [
        (datetime, "0000-01-01T00:00:00Z", "/x", "is not a date that Python supports"),
        (datetime, "2016-12-31T23:59:60Z", "/x", "leap second"),
        (Decimal, "twelve", "/x", "is not a decimal number"),
        (Decimal, "1e9999999999999999999", "/x", "too large for a Decimal"),
        (Decimal, "NaN", "/x", "is not a decimal number"),
        (timedelta, 1e300, "/x", "more seconds than a timedelta holds"),
        (list[Decimal], ["1", "a"], "/x/1", "is not a decimal number"),
        (dict[str, tuple[int, Decimal]], {"a/b": [1, "a"]}, "/x/a~1b/1", "is not a decimal number"),
        (Order, {"lines": [{"id": str(ID), "price": "a"}]}, "/x/lines/0/price", "is not a decimal number"),
        (Options, {"since": "0000-01-01T00:00:00Z"}, "/x/since", "is not a date"),
        (Spot, ["0000-01-01T00:00:00Z"], "/x/0", "is not a date"),
        (Optional[Decimal], "a", "/x", "is not a decimal number"),
        (Union[Decimal, date, None], "a", "/x", "is not a decimal number"),
    ],
)
def test_what_fits_the_schema_alone_is_refused_with_its_place(hint: Any, came: Any, pointer: str, said: str) -> None:
    declared = echo(hint)
    assert declared.check_args({"x": came}) == []
    with pytest.raises(Misfit) as failed:
        declared.run({"x": came}, None)
    [problem] = failed.value.problems
    assert problem["pointer"] == pointer and said in problem["message"]
    with pytest.raises(InvalidResult, match=said):
        declared.read_result(came)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (datetime(2026, 1, 2), "a datetime that has no time zone"),
        ([time(9, 30, tzinfo=ZoneInfo("Europe/Berlin"))], "a time that has no time zone"),
        (Decimal("NaN"), "a Decimal that is NaN is not a number"),
        ({(1, 2): 3}, "keys must be"),
        (object(), "a object is not JSON"),
    ],
)
def test_what_cannot_travel(value: Any, said: str) -> None:
    with pytest.raises(PayloadProblem, match=said):
        encode_payload(value)


def test_an_offset_of_a_time_before_zones_becomes_utc() -> None:
    old = datetime(1880, 1, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    assert encode_payload(old) == '"1880-01-01T11:06:32Z"'


@task("book:1.0")
def book(at: datetime, id: UUID, price: Annotated[Decimal, "In euros"], tags: set[Colour]) -> dict[date, tuple[Decimal, Colour]]:
    assert type(at) is datetime and type(id) is UUID and type(price) is Decimal and type(tags) is set
    return {at.date(): (price * 2, sorted(tags)[0])}


def test_a_coroutine_is_given_them_too(hub: Hub, serve: Callable[..., Worker]) -> None:
    @task("later:1.0")
    async def later(at: datetime, price: Decimal = Decimal(1)) -> Decimal:
        assert type(at) is datetime
        return price * 2

    serve(later)
    assert hub.call(later, at=NOON, price=Decimal("1.25")) == Decimal("2.50")
    with pytest.raises(InvalidArgs) as failed:
        hub.call("later:1.0", at=NOON, price="much")
    assert failed.value.data["problems"][0]["pointer"] == "/price"


def test_over_redis(hub: Hub, serve: Callable[..., Worker]) -> None:
    seen: list[Any] = []

    @task("merge:1.0", keyed="merged", retries=0)
    def merge(by_key: dict[str, list[Decimal]]) -> None:
        seen.append(by_key)

    serve(book, merge)
    given: dict[str, Any] = {"at": NOON, "id": ID, "price": Decimal("1.25"), "tags": {Colour.RED}}
    assert hub.call(book, given) == {NOON.date(): (Decimal("2.50"), Colour.RED)}
    assert hub.call("book:1.0", given) == {"2026-11-24": ["2.50", "red"]}
    with pytest.raises(InvalidArgs) as failed:
        hub.call("book:1.0", {**given, "price": "much"})
    assert failed.value.data == {"problems": [{"pointer": "/price", "message": "is not a decimal number, such as 12.50"}]}
    with pytest.raises(InvalidArgs, match="/at must match format date-time"):
        hub.call("book:1.0", {**given, "at": "yesterday"})
    with pytest.raises(InvalidArgs, match="a datetime that has no time zone"):
        hub.call("book:1.0", {**given, "at": NOON.replace(tzinfo=None)})
    # A payload that the hint does not take is given up, and costs the others of its key nothing.
    waiting = [("merge:1.0", "much", {"score": 2}), ("merge:1.0", Decimal("0.5"), {"score": 1})]
    hub.enqueue_many(waiting, key="a")
    dead = hub.dead("q")
    eventually(lambda: seen == [{"a": [Decimal("0.5")]}] and dead.count() == 1, "the run of what is left")
    [given_up] = dead.list()
    assert given_up.args == "much"
