"""What a model holds comes out as it went in, and fits what is published of it; else its declaration is refused."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from ipaddress import IPv6Address
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest

from job_tasks import hub, serve  # noqa: F401
from pshub import ConfigError, Hub, Worker, task
from pshub.wire.payload import PayloadProblem, decode_payload, encode_payload
from test_hints import echo

pydantic = pytest.importorskip("pydantic", reason="pydantic could not be installed here")
msgspec = pytest.importorskip("msgspec", reason="msgspec could not be installed here")
from pydantic import Field, SecretBytes, SecretStr  # noqa: E402

NOON = datetime(2026, 11, 24, 12, 30, microsecond=5, tzinfo=timezone.utc)
LOCAL = NOON.replace(tzinfo=None)


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


def model(*, validators: Any = None, computed: bool = False, config: Any = None, **fields: Any) -> Any:
    """A model with these fields: hints, or pairs of a hint and a default."""
    given = {name: each if isinstance(each, tuple) else (each, ...) for name, each in fields.items()}
    base = pydantic.create_model("Base", __config__=config, __validators__=validators, **given)
    if not computed:
        return base

    class Computed(base):
        @pydantic.computed_field
        def twice(self) -> int:
            return self.a * 2

    return Computed


class Login(pydantic.BaseModel):
    user: str
    token: SecretStr


class Deep(pydantic.BaseModel):
    many: list[Login]
    named: dict[str, Login]
    either: Login | int
    anything: Any
    secret: pydantic.Secret[Login] | None = None
    kids: list[Deep] = []


@pydantic.dataclasses.dataclass
class Pair:
    a: SecretStr
    b: timedelta = Field(alias="B")


def reads(hint: Any, serializer: Any, *others: Any) -> Any:
    return Annotated[(hint, *others, serializer)]


AL = Login(user="al", token="s3cret")
TEXT = pydantic.PlainSerializer(lambda value: f"{value} pieces")
PARTS = pydantic.BeforeValidator(lambda value: value.split(",") if isinstance(value, str) else value)
JOINED = pydantic.PlainSerializer(lambda value: ",".join(value))
WHOLE = {"whole": pydantic.model_serializer(lambda self: str(self.a))}
PARSED = {**WHOLE, "parse": pydantic.model_validator(mode="before")(lambda value: {"a": int(value)} if isinstance(value, str) else value)}
BOTH = {"ser_json_bytes": "base64", "val_json_bytes": "base64"}


class Times(msgspec.Struct):
    took: timedelta
    moment: datetime
    clock: time
    local: Annotated[datetime, msgspec.Meta(tz=False)]
    by_number: dict[int, list[timedelta]]
    by_price: dict[Decimal, int] = {}


VALUES = [
    AL,
    Deep(many=[AL], named={"a": AL}, either=AL, anything=5, secret=AL, kids=[Deep(many=[], named={}, either=1, anything=None)]),
    pydantic.RootModel[list[Login]]([AL]),
    Pair(a="x", B=timedelta(milliseconds=-500)),
    model(x=Pair)(x=Pair(a="x", B=timedelta(1))),
    model(config=BOTH, a=SecretBytes, b=bytes)(a=b"\xff", b=b"\xff\x00"),
    model(a=pydantic.Secret[int], b=pydantic.Secret[date])(a=5, b=date(2026, 1, 2)),
    model(config={"extra": "forbid"}, computed=True, a=int)(a=1),
    model(config={"extra": "allow"}, computed=True, a=int)(a=1, other={"b": 2}),
    model(computed=True, a=int)(a=1),
    model(a=(int, Field(validation_alias="A")))(A=1),
    model(a=(int, Field(serialization_alias="A")))(a=1),
    model(a=(int, Field(validation_alias="A", serialization_alias="B")))(A=1),
    model(a=(int, Field(validation_alias=pydantic.AliasChoices(pydantic.AliasPath("c", 0), "A", "B"))))(B=1),
    model(config={"validate_by_name": True, "validate_by_alias": False}, a=(int, Field(alias="A")))(a=1),
    model(config={"alias_generator": str.upper, "populate_by_name": True}, a=int)(a=1),
    model(a=pydantic.Json[list[int]], b=pydantic.Json)(a="[1]", b='{"c":1}'),
    model(a=reads(int, TEXT))(a=1),
    model(a=reads(list[str], JOINED, PARTS))(a=["a", "b"]),
    model(a=reads(str, pydantic.PlainSerializer(lambda path: path.pattern), pydantic.AfterValidator(re.compile)))(a="^a"),
    model(validators=WHOLE, a=int)(a=1),
    model(validators=PARSED, a=int)(a=1),
    model(config={"ser_json_bytes": "base64"}, a=bytes)(a=b"ab"),
    model(config={"ser_json_timedelta": "float"}, a=timedelta)(a=timedelta(seconds=-1.5)),
    model(config={"ser_json_inf_nan": "strings"}, a=float)(a=math.inf),
    model(a=timedelta, b=list[timedelta], c=timedelta)(a=timedelta(milliseconds=500), b=[timedelta(days=-1)], c=timedelta(seconds=41.286072)),
    model(a=datetime, b=time, c=pydantic.NaiveDatetime, d=pydantic.AwareDatetime, e=datetime)(a=LOCAL, b=time(9, 30), c=LOCAL, d=NOON, e=NOON),
    model(config={"strict": True}, a=timedelta, b=datetime, c=Decimal, d=set[int])(a=timedelta(-1), b=LOCAL, c=Decimal("1E+3"), d={1}),
    model(a=IPv6Address, b=pydantic.AnyUrl)(a="fe80::1%eth0", b="http://bücher.de/?a={b}|"),
    model(a=Annotated[str, Field(pattern=re.compile("^bar$", re.I))])(a="BAR"),
    model(a=dict[Level, int], b=dict[timedelta, int], c=dict[UUID, int])(a={1: 2}, b={1.5: 1}, c={UUID(int=1): 1}),
    Times(timedelta(milliseconds=-500), LOCAL, time(9), LOCAL, {1: [timedelta(days=-1)]}, {Decimal("1.5"): 1}),
]


@pytest.mark.parametrize("value", VALUES)
def test_a_model_reads_what_it_wrote(value: Any) -> None:
    declared = echo(type(value))
    travels = decode_payload(encode_payload({"x": value}))
    assert declared.check_args(travels) == []
    assert declared.check_result is None or declared.check_result(travels["x"]) == []
    assert declared.run(travels, None) == value
    assert not declared.reads_results or declared.read_result(travels["x"]) == value


def test_a_computed_field_travels_where_it_does_no_harm() -> None:
    assert encode_payload(model(computed=True, a=int)(a=1)) == '{"a":1,"twice":2}'


def test_secrets_arrive_and_are_told_apart(hub: Hub, serve: Callable[..., Worker]) -> None:
    @task("in:1.0")
    def log_in(login: Login, also: Any) -> list[Login]:
        assert also == [{"user": "al", "token": "s3cret"}]
        return [login]

    serve(log_in)
    assert hub.call(log_in, login=AL, also=[AL])[0].token.get_secret_value() == "s3cret"
    assert hub.call("in:1.0", {"login": AL, "also": [AL]}) == [{"user": "al", "token": "s3cret"}]
    jobs = [hub.enqueue("later:1.0", [Login(user="a", token=token)], unique=True, queue="nobody") for token in ("x", "y")]
    assert jobs[0].id != jobs[1].id


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        (model(a=(int, Field(default=1, exclude=True))), "'a' of Base is excluded when written"),
        (model(a=list[model(a=(int, Field(exclude=True)))]), "'a' of Base is excluded when written"),
        (model(a=(int, Field(validation_alias=pydantic.AliasPath("b", 0)))), "'a' of Base is read only through its AliasPath"),
        (model(a=dict[tuple[int, int], str]), "nothing converts them to tuple"),
        (model(a=dict[SecretStr, int]), "keys of an object"),
        (model(a=dict[int | None, int]), "keys of an object"),
        (model(a=Literal[Colour.RED]), "cannot read an enum member in a Literal"),
        (msgspec.defstruct("Grid", [("cells", dict[tuple[int, int], str])]), "keys of an object"),
    ],
)
def test_what_would_not_come_back_is_refused_where_it_is_declared(hint: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=f"echo:1.0: parameter 'x': .*{said}"):
        echo(hint)


def test_what_is_no_number_is_refused_in_structs_too() -> None:
    with pytest.raises(PayloadProblem, match="a Decimal that is NaN is not a number"):
        encode_payload(msgspec.defstruct("Price", [("amount", Decimal)])(Decimal("NaN")))


def test_keys_that_would_be_one_text_are_refused() -> None:
    struct = msgspec.defstruct("Stock", [("by", dict[Any, str])])
    for held, pointer in ((model(by=dict[Any, str])(by={1: "a", "1": "b"}), "/held"), (struct(by={1.5: "a", "1.5": "b"}), "/held/by/1.5")):
        with pytest.raises(PayloadProblem, match="in JSON") as refused:
            encode_payload({"held": held})
        assert refused.value.problem["pointer"] == pointer
