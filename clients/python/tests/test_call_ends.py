"""How a call ends that does not end well: late, given up, refused, or with its hub or its workers."""

from __future__ import annotations

import time
from typing import Any

import pytest

from conftest import Server, eventually
from pshub import Aborted, Hub, HubClosed, Timeout, Worker


def test_deadlines(hub: Hub, server: Server) -> None:
    begun = time.monotonic()
    with pytest.raises(Timeout):
        hub.call("wait:1.0", s=600, timeout=0.3)
    assert time.monotonic() - begun > 0.29
    # The handler was told, so its slot is idle and nothing is held.
    eventually(lambda: server.held() == [])


def test_a_nested_call_goes_with_its_outer_one(hub: Hub, worker: Worker) -> None:
    pending = hub.submit("nested_wait:1.0", timeout=20)
    eventually(lambda: worker.busy == 2)
    pending.cancel()
    with pytest.raises(Aborted):
        pending.result()
    # The inner one has 15 s, and nobody needs it any more.
    eventually(lambda: worker.busy == 0)


def test_a_closed_hub_says_so(server: Server, worker: Worker) -> None:
    hub = Hub(server.url)
    pending = hub.submit("wait:1.0", s=20, timeout=20)
    eventually(lambda: worker.busy == 1)
    hub.close()
    with pytest.raises(Aborted):
        pending.result()
    with pytest.raises(HubClosed):
        hub.call("add:1.0", x=1)
    hub.close()


def test_a_closed_hub_takes_back_what_it_sent(server: Server, worker: Worker) -> None:
    hub = Hub(server.url)
    # Four slots: one waits in the list.
    pending = [hub.submit("wait:1.0", s=20, timeout=20) for _ in range(5)]
    eventually(lambda: worker.busy == 4 and server.client.llen("pshub:{default}:calls") == 1)
    # And this one is on its way.
    pending.append(hub.submit("wait:1.0", s=20, timeout=20))
    hub.close()
    assert server.client.llen("pshub:{default}:calls") == 0
    assert {type(each.exception()) for each in pending[:5]} == {Aborted}
    assert isinstance(pending[5].exception(), (Aborted, HubClosed))
    eventually(lambda: worker.busy == 0)


def test_closing_a_hub_is_no_outage(server: Server, worker: Worker) -> None:
    told: list[Any] = []
    hub = Hub(server.url)
    hub.events.on("redis:down", told.append)
    hub.events.on("redis:up", told.append)
    pending = hub.submit("wait:1.0", s=5)
    eventually(lambda: worker.busy == 1)
    assert len(told) == 2
    hub.close()
    with pytest.raises(Aborted):
        pending.result()
    assert len(told) == 2
