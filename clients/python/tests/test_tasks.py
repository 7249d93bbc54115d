"""Declarations: schemas and documentation from hints and docstrings, and what handlers are given."""

from __future__ import annotations

import asyncio
import enum
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import pytest

from pshub import ConfigError, Context, task
from pshub.task.schema import UnusableSchema, compile_foreign, compile_own


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: float
    y: float = 0.0


@dataclass
class Shape:
    points: list[Point]
    colour: Colour = Colour.RED
    tags: list[str] = field(default_factory=list)


class Options(TypedDict, total=False):
    fast: bool


def context() -> Any:
    return object.__new__(Context)


def test_hints_become_a_schema() -> None:
    @task("draw:1.0")
    def draw(
        shape: Shape,
        size: int,
        how: Literal["thin", "thick"] = "thin",
        note: str | None = None,
        at: int | str | None = 5,
        pair: tuple[int, str] = (1, "a"),
        by_name: dict[str, float] | None = None,
        options: Options | None = None,
        *,
        anything: Any = None,
        ctx: Context,
    ) -> Point | None:
        """
        Draws a shape.

        On paper.

        :param size: in millimetres,
            at least one
        :returns: where it ended
        """

    assert draw.description == "Draws a shape.\n\nOn paper."
    assert draw.args == {
        "type": "object",
        "properties": {
            "shape": {
                "type": "object",
                "properties": {
                    "points": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"x": {"type": "number"}, "y": {"type": "number", "default": 0.0}},
                            "required": ["x"],
                            "additionalProperties": False,
                        },
                    },
                    "colour": {"enum": ["red", "blue"], "default": "red"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["points"],
                "additionalProperties": False,
            },
            "size": {"type": "integer", "description": "in millimetres, at least one"},
            "how": {"enum": ["thin", "thick"], "default": "thin"},
            "note": {"type": ["string", "null"]},
            "at": {"type": ["integer", "string", "null"], "default": 5},
            "pair": {
                "type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False, "minItems": 2,
                "default": [1, "a"],
            },
            "by_name": {"anyOf": [{"type": "object", "additionalProperties": {"type": "number"}}, {"type": "null"}]},
            "options": {
                "anyOf": [
                    {"type": "object", "properties": {"fast": {"type": "boolean"}}, "additionalProperties": False},
                    {"type": "null"},
                ]
            },
            "anything": {},
        },
        "required": ["shape", "size"],
        "additionalProperties": False,
    }  # fmt: skip
    assert draw.result is not None and draw.result["anyOf"][1] == {"type": "null"}


def test_handlers_are_given_what_their_hints_say() -> None:
    seen: list[Any] = []

    @task("seen:1.0")
    def seen_task(shape: Shape, pair: tuple[int, ...] = (), ctx: Any | None = None, **rest: int) -> None:
        seen.append((shape, pair, ctx, rest))

    ctx = context()
    args = {"shape": {"points": [{"x": 1}], "colour": "blue"}, "pair": [1, 2], "more": 3}
    assert seen_task.check_args is not None and seen_task.check_args(args) == []
    seen_task.run(args, ctx)
    assert seen[0][:2] == (Shape([Point(1, 0.0)], Colour.BLUE), (1, 2)) and seen[0][2] is ctx and seen[0][3] == {"more": 3}


def test_google_docstrings_and_whole_arguments() -> None:
    @task("whole:1.0")
    def whole(args: list[int]) -> int:
        """Adds up.

        Args:
            args (list): the numbers

        Returns:
            their sum
        """
        return sum(args)

    assert whole.args == {"type": "array", "items": {"type": "integer"}, "description": "the numbers"}
    assert whole.description == "Adds up."
    assert whole.run([1, 2, 3], context()) == 6


def test_what_cannot_be_declared() -> None:
    def handler(x: Any, y: pytest.Item) -> None: ...

    with pytest.raises(ConfigError, match="has no JSON form"):
        task("a:1.0")(handler)
    # With schemas of its own the hints do not matter.
    assert task("a:1.0", args={}, result={})(handler).args == {}
    for name in ("a", "a:1", "a:01.0", "1:1.0", ""):
        with pytest.raises(ConfigError, match="is not a task name"):
            task(name)
    with pytest.raises(ConfigError, match="not a valid JSON Schema"):
        task("a:1.0", args={"type": "nothing"})(lambda: None)
    with pytest.raises(ConfigError, match="timeout"):
        task("a:1.0", timeout=0)
    with pytest.raises(ConfigError, match="passed by name"):
        task("a:1.0")(lambda *args: None)


def test_unions_in_new_syntax() -> None:
    @task("new:1.0")
    def new(x: int | None, y: list[str] | None = None) -> None: ...

    assert new.args is not None and new.args["properties"]["x"] == {"type": ["integer", "null"]}


@pytest.mark.parametrize(
    ("schema", "fitting", "others"),
    [
        ({"type": "integer"}, [1, 1.0, -5], [1.5, "1", True, None]),
        ({"type": ["string", "null"]}, ["", None], [1, []]),
        ({"type": "array", "items": {"type": "boolean"}, "maxItems": 2}, [[], [True]], [[1], [True, True, True], {}]),
        ({"properties": {"a": {"minimum": 3}}, "required": ["a"]}, [{"a": 3, "b": 1}, {"a": "x"}, 7], [{"a": 2}, {}]),
        ({"enum": ["a", None]}, ["a", None], ["b", 0, False]),
        ({"enum": [1, True]}, [1, True, 1.0], [0, "1"]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, [{}, {"x": "y"}], [{"x": 1}]),
        ({"anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}]}, ["ab", None], ["a", 1]),
        ({"pattern": "^a+$", "type": "string"}, ["aa"], ["ab"]),
        ({"exclusiveMinimum": 0, "exclusiveMaximum": 1}, [0.5, "x"], [0, 1]),
    ],
)
def test_the_quick_check_agrees_with_jsonschema(schema: Any, fitting: list[Any], others: list[Any]) -> None:
    import jsonschema

    for check in (compile_own(schema, "it"), compile_foreign(__import__("json").dumps(schema))):
        for value in fitting:
            assert check(value) == [] and jsonschema.Draft202012Validator(schema).is_valid(value)
        for value in others:
            assert check(value) != [] and not jsonschema.Draft202012Validator(schema).is_valid(value)


def test_foreign_schemas_that_could_cost_much_are_not_used() -> None:
    deep: Any = {}
    for _ in range(40):
        deep = {"items": deep}
    costly = [
        {"$ref": "http://elsewhere/"}, {"$ref": "#"}, {"uniqueItems": True}, {"pattern": "^(a+)+$"}, deep,
        {"properties": {str(n): {} for n in range(3000)}}, {"type": "nothing"}, [], {"title": "x" * 70_000},
    ]  # fmt: skip
    for schema in costly:
        with pytest.raises(UnusableSchema):
            compile_foreign(__import__("json").dumps(schema))
    # A property may have any of these names.
    compile_foreign('{"properties":{"$ref":{"type":"string"},"uniqueItems":{}}}')


def test_merged_jobs_yield_nothing() -> None:
    options: Any = {"keyed": "merged"}

    async def later(by_key: Any) -> Any:
        yield by_key

    def now(by_key: Any) -> Any:
        yield by_key

    for handler in (later, now):
        with pytest.raises(ConfigError, match="many:1.0: nobody reads what a run of merged jobs yields"):
            task("many:1.0", **options)(handler)


def test_an_async_function_is_a_task_whose_call_is_awaited() -> None:
    @task("later:1.0")
    async def later(x: int) -> int:
        """Later."""
        return x + 1

    class Callable:
        async def __call__(self, x: int) -> int:
            return x

    assert (later.is_async, later.description, later.result) == (True, "Later.", {"type": "integer"})
    assert asyncio.run(later(1)) == 2
    assert task("object:1.0", args={}, result={})(Callable()).is_async
    assert not task("now:1.0")(lambda: 1).is_async


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"minLength": 1}, "", "must have at least 1 character"),
        ({"maxLength": 2}, "abc", "must have at most 2 characters"),
        ({"minItems": 2}, [], "must have at least 2 items"),
        ({"maxItems": 1}, [1, 2], "must have at most 1 item"),
        ({"minProperties": 1}, {}, "must have at least 1 field"),
        ({"uniqueItems": True}, [1, 1], "has the same item twice"),
        ({"not": {"type": "string"}}, "a", "is not allowed"),
    ],
)
def test_what_is_wrong_is_said_in_words(schema: Any, value: Any, message: str) -> None:
    assert [problem["message"] for problem in compile_own(schema, "x")(value)] == [message]
