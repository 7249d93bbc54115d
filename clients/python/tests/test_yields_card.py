"""That a task yields is on its card."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

from conftest import Server
from pshub import Worker, task


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
