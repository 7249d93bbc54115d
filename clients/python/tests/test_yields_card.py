"""That a task yields is on its card."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import pytest

from conftest import Server
from pshub import ConfigError, Hub, InvalidResult, Worker, task


@task("count:1.0")
def count() -> Iterator[int]:
    yield 1


@task("later:1.0")
async def later() -> AsyncIterator[int]:
    yield 1


@task("whole:1.0")
def whole() -> int:
    return 1


def test_it_is_on_the_card_of_a_function_that_yields(server: Server) -> None:
    with Worker(server.url, tasks=[count, later, whole]):
        cards = {name: json.loads(card) for name, card in server.client.hgetall("pshub:tasks").items()}
    assert [cards[name].get("yields") for name in ("count:1.0", "later:1.0", "whole:1.0")] == [True, True, None]


ROW = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@task("rows:1.0", yields=ROW)
def rows(fits: bool) -> Iterator[object]:
    yield {"n": 1}
    yield {"n": 2 if fits else "two"}


@task("arows:1.0", yields=ROW)
async def arows(fits: bool) -> AsyncIterator[object]:
    yield {"n": 1}
    yield {"n": 2 if fits else "two"}


def rows_of(count: int) -> Iterator[int]:
    yield from range(count)


@task("handed:1.0", args={}, result={}, yields=True)
def handed(args: int) -> object:
    return rows_of(args)


@pytest.mark.parametrize("name", ["rows:1.0", "arows:1.0"])
def test_chunks_are_held_to_the_schema_that_its_card_has(server: Server, name: str) -> None:
    with Worker(server.url, tasks=[rows, arows, handed]), Hub(server.url) as hub:
        assert list(hub.stream(name, fits=True)) == hub.call(name, fits=True) == [{"n": 1}, {"n": 2}]
        chunks = []
        with pytest.raises(InvalidResult) as unfit:
            for chunk in hub.stream(name, fits=False):
                chunks.append(chunk)
        assert chunks == [{"n": 1}]
        assert [problem["pointer"] for problem in unfit.value.data["problems"]] == ["/n"]
        with pytest.raises(InvalidResult):
            hub.call(name, fits=False)
        cards = {task: json.loads(card) for task, card in server.client.hgetall("pshub:tasks").items()}
        assert [cards[task]["yields"] for task in ("rows:1.0", "arows:1.0", "handed:1.0")] == [ROW, ROW, True]


def test_what_cannot_be_declared_of_chunks_is_refused() -> None:
    for wrong in ({"type": "nothing"}, False, 3):
        with pytest.raises(ConfigError, match="'yields' is not a valid JSON Schema"):
            task("odd:1.0", yields=wrong)(rows_of)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="nobody reads what a run of merged jobs yields"):
        task("odd:1.0", keyed="merged", yields=True)(lambda payloads: None)
