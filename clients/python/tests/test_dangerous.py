"""Tasks that do harm when they are run by mistake say so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conftest import Server
from pshub import ConfigError, Worker, task


def test_it_is_on_the_card(server: Server) -> None:
    tasks = [
        task("wipe:1.0", dangerous="Deletes all orders.")(lambda: 1),
        task("drop:1.0", dangerous=True)(lambda: 1),
        task("look:1.0")(lambda: 1),
    ]
    with Worker(server.url, tasks=tasks):
        cards = {name: json.loads(card) for name, card in server.client.hgetall("pshub:tasks").items()}
    assert [cards[name].get("dangerous") for name in ("wipe:1.0", "drop:1.0", "look:1.0")] == ["Deletes all orders.", True, None]


@pytest.mark.parametrize("dangerous", ["", "  ", "x" * 501, 1, None, []])
def test_what_says_neither_is_refused(dangerous: Any) -> None:
    with pytest.raises(ConfigError, match="'dangerous' must be True or False, or say why in 1 to 500 characters"):
        task("wipe:1.0", dangerous=dangerous)
