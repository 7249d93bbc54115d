"""Passwords that are made anew for each connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from called_tasks import add
from conftest import Server, eventually
from pshub import Hub, NotEnqueued, Worker


@pytest.fixture
def locked(own_server: Server) -> Server:
    """Wants a password, which the test's own client has given already."""
    own_server.client.config_set("requirepass", "first")
    return own_server


def _options(server: Server, password: Callable[[], Any]) -> Any:
    return {"host": "127.0.0.1", "port": server.port, "password": password}


def test_a_function_is_asked_for_each_new_connection(locked: Server) -> None:
    valid = ["first"]
    asked: list[str] = []

    def password() -> str:
        asked.append(valid[0])
        return valid[0]

    async def later() -> str:
        await asyncio.sleep(0)
        return password()

    worker = Worker(_options(locked, later), tasks=[add]).start()
    with Hub(_options(locked, password)) as hub:
        assert hub.call("add:1.0", x=1) == 3
        assert asked == ["first"] * 4
        valid[0] = "second"
        locked.client.config_set("requirepass", "second")
        up: list[str] = []
        for events in (hub.events, worker.events):
            events.on("redis:up", lambda event: up.append(event["role"]))
        locked.client.client_kill_filter(_type="normal", skipme=True)
        eventually(lambda: len(up) == 4)
        assert hub.call("add:1.0", x=2) == 4
        assert asked[4:] == ["second"] * 4
    worker.stop()


def test_a_function_that_fails_is_told_as_an_outage(locked: Server) -> None:
    def password() -> str:
        raise RuntimeError("no token today")

    with Hub(_options(locked, password)) as hub:
        reasons: list[str] = []
        hub.events.on("redis:down", lambda event: reasons.append(event["reason"]))
        with pytest.raises(NotEnqueued, match="no token today"):
            hub.call("add:1.0", x=1)
        assert reasons == ["no token today"] * 2


def test_a_url_may_hold_it_as_it_is_and_white_space_is_told(locked: Server) -> None:
    password = "57#W%c/?@+ ä[]b"
    locked.client.config_set("requirepass", password)
    at = f"@127.0.0.1:{locked.port}"
    with Worker(f"redis://:{password}{at}", tasks=[add]), Hub(f"redis://:{password}{at}") as hub:
        assert hub.call("add:1.0", x=1) == 3
    with Hub(f"redis://:{password}%0A{at}") as hub, pytest.raises(NotEnqueued) as refused:
        hub.call("add:1.0", x=1)
    assert "(WRONGPASS the password that was given begins or ends with white space: invalid" in str(refused.value)
    assert password[:3] not in str(refused.value)
