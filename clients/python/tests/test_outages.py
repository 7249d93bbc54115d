"""Redis gone and back, silent, or full."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from called_tasks import add, wait
from conftest import Proxy, Server, eventually
from pshub import Hub, HubError, NotEnqueued, Worker


def test_hub_and_worker_survive_a_restart_of_redis(own_server: Server) -> None:
    server = own_server
    worker = Worker(server.url, tasks=[add]).start()
    with Hub(server.url) as hub:
        assert hub.call("add:1.0", x=1) == 3
        roles: set[str] = set()
        hub.events.on("redis:down", lambda event: roles.add(event["role"]))
        server.kill()
        # What is sent before it notices is in doubt, and may not be called certainly not run.
        eventually(lambda: len(roles) == 2, "the hub notices")
        with pytest.raises(NotEnqueued):
            hub.call("add:1.0", x=1, timeout=30)
        server.start()
        eventually(lambda: _result(hub) == 3, "a call after the restart")
        # That one may have gone by a route of before. Redis has forgotten everything, and tells others so until the next beat.
        eventually(lambda: server.client.hlen("pshub:workers") > 0, "its card")
        for n in range(50):
            assert hub.call("add:1.0", x=n) == n + 2
    worker.stop()
    assert server.leftovers() == []


def _result(hub: Hub) -> Any:
    try:
        return hub.call("add:1.0", x=1, timeout=1)
    except HubError:
        return None


def test_a_worker_started_without_redis_serves_when_it_is_there(own_server: Server) -> None:
    server = own_server
    server.kill()
    begun = time.monotonic()
    worker = Worker(server.url, tasks=[add]).start()
    assert time.monotonic() - begun > 1.5
    server.start()
    with Hub(server.url) as hub:
        eventually(lambda: _result(hub) == 3)
    worker.stop()


def test_a_full_redis_can_be_drained(own_server: Server) -> None:
    server = own_server
    worker = Worker(server.url, tasks=[wait, add], slots=2).start()
    with Hub(server.url) as hub:
        running = [hub.submit("wait:1.0", s=0.8, timeout=60) for _ in range(4)]
        eventually(lambda: server.held() and server.client.llen("pshub:{default}:calls") == 2)
        server.client.config_set("maxmemory", 1)
        with pytest.raises(NotEnqueued, match="Redis is full"):
            hub.call("add:1.0", x=1, timeout=2)
        assert [each.result() for each in running] == [False] * 4
        server.client.config_set("maxmemory", 0)
        assert hub.call("add:1.0", x=1) == 3
    worker.stop()
    assert server.leftovers() == []


def test_a_reply_whose_bytes_were_lost_is_read_again(server: Server, make_proxy: Callable[[Server], Proxy]) -> None:
    proxy = make_proxy(server)
    worker = Worker(server.url, tasks=[wait, add]).start()
    try:
        with Hub(proxy.url) as hub:
            for _ in range(3):
                assert hub.call("add:1.0", x=1, timeout=10) == 3
                pending = [hub.submit("wait:1.0", s=0.2, timeout=10) for _ in range(3)]
                eventually(lambda: worker.busy == 3)
                proxy.loses_answers = True
                # Settled as far as the worker can tell, and what was moved off the list is nowhere but in the second one.
                eventually(lambda: worker.busy == 0 and server.held() == [])
                proxy.cut()
                proxy.loses_answers = False
                assert [each.result() for each in pending] == [False] * 3
    finally:
        worker.stop()
