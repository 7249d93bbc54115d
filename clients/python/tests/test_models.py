"""Models of pydantic and structs of msgspec as hints: needed by nobody, and taken where they are there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional
from uuid import UUID

import pytest

from job_tasks import hub, serve  # noqa: F401
from pshub import ConfigError, Hub, InvalidArgs, InvalidResult, Task, Worker, task

pydantic = pytest.importorskip("pydantic", reason="pydantic could not be installed here")
msgspec = pytest.importorskip("msgspec", reason="msgspec could not be installed here")

ID = UUID("12345678-1234-5678-1234-567812345678")
NOON = datetime(2026, 11, 24, 12, 30, tzinfo=timezone.utc)


class Address(pydantic.BaseModel):
    city: str
    zip: Annotated[str, pydantic.Field(pattern="^[0-9]{5}$", description="Five digits")]


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int = 9

    @pydantic.field_validator("lives")
    @classmethod
    def _not_thirteen(cls, value: int) -> int:
        assert value != 13, "no cat has 13"
        return value


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]


class User(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)

    id: UUID
    born: datetime
    addresses: list[Address] = []
    pet: Annotated[Cat | Dog | None, pydantic.Field(discriminator="kind")] = None
    nick: str | None = pydantic.Field(default=None, alias="nickName")

    @pydantic.field_validator("born")
    @classmethod
    def _not_later(cls, value: datetime) -> datetime:
        if value > NOON:
            raise ValueError("is in the future")
        return value


class Node(pydantic.BaseModel):
    name: str
    kids: list[Node] = []


class Item(msgspec.Struct, tag="item"):
    id: UUID
    price: Annotated[Decimal, msgspec.Meta(description="In euros")]
    count: Annotated[int, msgspec.Meta(gt=0)] = 1


class Cart(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    first_item: Item
    more_items: list[Item] = []
    by_shelf: dict[str, list[Item]] = {}
    inner: Cart | None = None


@task("user:1.0")
def user(user: User, also: list[User] | None = None) -> User:
    """Moves them."""
    assert type(user) is User and all(type(each) is User for each in also or [])
    return user.model_copy(update={"addresses": [Address(city="Ulm", zip="89073")]})


@task("cart:1.0")
def cart(cart: Cart) -> dict[str, Item]:
    assert type(cart) is Cart
    return {"first": cart.first_item}


@task("node:1.0")
def node(node: Node, cart: Cart | None = None) -> list[Node]:
    return [*node.kids, node]


USER = {"id": str(ID), "born": "2026-11-24T12:30:00Z", "pet": {"kind": "cat"}, "nickName": "Al"}
ITEM = {"type": "item", "id": str(ID), "price": "1.50"}


def test_schemas_of_models_stand_where_they_are_meant() -> None:
    assert user.args is not None
    schema = user.args["properties"]["user"]
    address = schema["properties"]["addresses"]["items"]
    assert address["properties"]["zip"]["pattern"] == "^[0-9]{5}$" and address["required"] == ["city", "zip"]
    assert [each.get("title") for each in schema["properties"]["pet"].get("oneOf", schema["properties"]["pet"].get("anyOf"))]
    # So that hubs, which use no schema of others that refers to anything, check it before they send.
    assert "$ref" not in str(user.args) and "$defs" not in str(user.args) and "discriminator" not in str(user.args)
    assert cart.result is not None and "$ref" not in str(cart.result)
    assert cart.result["additionalProperties"]["properties"]["count"]["exclusiveMinimum"] == 0


def test_what_holds_itself_stays_a_definition_of_the_whole() -> None:
    assert node.args is not None and node.result is not None
    assert sorted(node.args["$defs"]) == ["Cart", "Node"] and sorted(node.result["$defs"]) == ["Node"]
    assert node.check_args is not None
    assert node.check_args({"node": {"name": "a", "kids": [{"name": "b"}]}}) == []
    [problem] = node.check_args({"node": {"name": "a", "kids": [{"name": 5}]}})
    assert problem["pointer"] == "/node/kids/0/name"


def test_different_classes_of_one_name_are_told_apart() -> None:
    first = Node

    def other() -> Any:
        class Node(pydantic.BaseModel):
            size: int
            next: Any | None = None

        return pydantic.create_model("Node", size=(int, ...), next=(Optional["Node"], None))

    second = other()
    second.model_rebuild(_types_namespace={"Node": second})

    def handler(a: Any, b: Any) -> None: ...

    handler.__annotations__ = {"a": first, "b": second}
    declared: Task[..., Any] = task("both:1.0")(handler)
    assert declared.args is not None and sorted(declared.args["$defs"]) == ["Node", "Node_2"]
    assert declared.check_args is not None
    assert declared.check_args({"a": {"name": "x"}, "b": {"size": 1, "next": {"size": 2}}}) == []
    problems = declared.check_args({"a": {"name": "x"}, "b": {"size": 1, "next": {"size": "2"}}})
    assert problems != [] and problems[0]["pointer"].startswith("/b")


def test_over_redis(hub: Hub, serve: Callable[..., Worker]) -> None:
    serve(user, cart, node)
    found = hub.call(user, user=User(id=ID, born=NOON))
    assert type(found) is User and found.addresses[0].city == "Ulm"
    travelled = hub.call("user:1.0", user=USER, also=[USER])
    assert travelled == {**USER, "pet": {"kind": "cat", "lives": 9}, "addresses": [{"city": "Ulm", "zip": "89073"}]}
    assert hub.call(cart, cart=Cart(Item(ID, Decimal("1.50")))) == {"first": Item(ID, Decimal("1.50"))}
    assert hub.call("cart:1.0", cart={"firstItem": ITEM}) == {"first": {**ITEM, "count": 1}}
    assert hub.call(node, node=Node(name="a", kids=[Node(name="b")]))[0] == Node(name="b")


@pytest.mark.parametrize(
    ("name", "args", "pointer", "said"),
    [
        ("user:1.0", {"user": {**USER, "born": "2027-01-01T00:00:00Z"}}, "/user/born", "is in the future"),
        ("user:1.0", {"user": USER, "also": [USER, {**USER, "born": "2027-01-01T00:00:00Z"}]}, "/also/1/born", "is in the future"),
        ("user:1.0", {"user": {**USER, "pet": {"kind": "cat", "lives": 13}}}, "/user/pet/lives", "no cat has 13"),
        ("user:1.0", {"user": {"born": NOON}}, "/user/id", "is required"),
        ("user:1.0", {"user": {**USER, "addresses": [{"city": "a", "zip": "1"}]}}, "/user/addresses/0/zip", "must match pattern"),
        ("cart:1.0", {"cart": {"firstItem": ITEM, "moreItems": [{**ITEM, "price": "much"}]}}, "/cart/moreItems/0/price", "Invalid decimal"),
        # msgspec does not tell which key it was.
        ("cart:1.0", {"cart": {"firstItem": ITEM, "byShelf": {"a": [{**ITEM, "price": "much"}]}}}, "/cart/byShelf", "Invalid decimal"),
        ("cart:1.0", {"cart": {"firstItem": {**ITEM, "count": 0}}}, "/cart/firstItem/count", "must be > 0"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(hub: Hub, serve: Callable[..., Worker], name: str, args: Any, pointer: str, said: str) -> None:
    serve(user, cart)
    with pytest.raises(InvalidArgs) as failed:
        hub.call(name, args)
    assert [each["pointer"] for each in failed.value.data["problems"]] == [pointer]
    assert said in failed.value.data["problems"][0]["message"]


def test_a_result_that_its_model_does_not_take_is_told() -> None:
    with pytest.raises(InvalidResult, match="/born is rejected: .*is in the future"):
        user.read_result({**USER, "born": "2027-01-01T00:00:00Z"})


def test_bounds_of_fields_count_without_a_model() -> None:
    @task("bounds:1.0")
    def bounds(
        a: Annotated[int, pydantic.Field(gt=0, le=5, description="Few")],
        b: Annotated[str, msgspec.Meta(min_length=2, pattern="^x")],
    ) -> None: ...

    assert bounds.args is not None and bounds.args["properties"] == {
        "a": {"type": "integer", "exclusiveMinimum": 0, "maximum": 5, "description": "Few"},
        "b": {"type": "string", "minLength": 2, "pattern": "^x"},
    }


def test_the_library_loads_neither() -> None:
    code = "import pshub, sys; print([name for name in ('pydantic', 'msgspec') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_model_that_has_no_schema_is_refused() -> None:
    class Odd(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)

        what: Callable[[], int]

    def handler(x: Any) -> None: ...

    handler.__annotations__ = {"x": Odd}
    with pytest.raises(ConfigError, match="odd:1.0: parameter 'x'.*Odd"):
        task("odd:1.0")(handler)
