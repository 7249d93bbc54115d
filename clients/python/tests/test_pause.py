"""A paused queue: its workers take nothing, finish what they hold, and go on when it is resumed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conftest import Server, beats, eventually
from pshub import AsyncHub, ConfigError, Hub, HubClosed, NotEnqueued, Timeout, Worker, task

PAUSED = "pshub:{default}:paused"
CALLS = "pshub:{default}:calls"

started: list[Any] = []
going_on = threading.Event()


@task("note:1.0")
def note(n: int) -> int:
    started.append(n)
    return n


@task("stay:1.0", timeout=20)
def stay(n: int) -> int:
    started.append(n)
    assert going_on.wait(20)
    return n


@pytest.fixture(autouse=True)
def afresh() -> Iterator[None]:
    started.clear()
    going_on.clear()
    yield
    going_on.set()


class Told:
    """What a worker told of pauses."""

    def __init__(self, worker: Worker, server: Server) -> None:
        self.events: list[dict[str, Any]] = []
        self._worker = worker
        self._server = server
        worker.events.on("queue:paused", lambda event: self.events.append(event))
        worker.events.on("queue:resumed", lambda event: self.events.append({"resumed": event["queue"]}))

    def beats(self, count: int = 3) -> None:
        beats(self._server, self._worker, count)


def _is_waiting(server: Server) -> bool:
    return any(client["cmd"] == "blpop" and "b" in client["flags"] for client in server.client.client_list())


def _unblocks(server: Server) -> int:
    return int(server.client.info("commandstats").get("cmdstat_client|unblock", {}).get("calls", 0))


@pytest.fixture
def serve(server: Server) -> Iterator[Callable[..., Worker]]:
    workers: list[Worker] = []

    def start(**options: Any) -> Worker:
        workers.append(Worker(server.url, tasks=[note, stay], **options).start())
        return workers[-1]

    yield start
    going_on.set()
    for worker in workers:
        worker.stop(grace=1)
    assert server.client.exists(CALLS, PAUSED) == 0


def test_a_worker_that_waits_takes_nothing_until_it_is_resumed(server: Server, serve: Callable[..., Worker]) -> None:
    worker = serve()
    told = Told(worker, server)
    with Hub(server.url) as hub:
        assert hub.call("note:1.0", n=1) == 1
        eventually(lambda: _is_waiting(server))
        before = _unblocks(server)
        paused_ms = hub.pause("default")
        eventually(lambda: told.events)
        assert told.events == [{"worker": worker.id, "queue": "default", "paused_ms": paused_ms}]
        # The wait did not end by itself.
        eventually(lambda: _unblocks(server) > before and not _is_waiting(server))
        with pytest.raises(Timeout):
            hub.call("note:1.0", n=2, timeout=0.3)
        waiting = hub.submit("note:1.0", n=3)
        eventually(lambda: server.client.llen(CALLS) == 2)
        assert hub.resume("default") is True
        assert waiting.result() == 3
    assert started == [1, 3]
    assert told.events[-1] == {"resumed": "default"}


def test_a_busy_worker_finishes_and_keeps_its_lease(server: Server, serve: Callable[..., Worker]) -> None:
    worker = serve(slots=1, lease=2)
    told = Told(worker, server)
    id = worker.id
    with Hub(server.url) as hub:
        running = hub.submit("stay:1.0", n=1)
        eventually(lambda: started == [1])
        waiting = hub.submit("stay:1.0", n=2)
        eventually(lambda: server.client.llen(CALLS) == 1)
        hub.pause("default")
        eventually(lambda: told.events)
        going_on.set()
        assert running.result() == 1
        told.beats(6)
        assert (started, server.client.llen(CALLS), worker.id, worker.busy) == ([1], 1, id, 0)
        assert server.held() == []
        hub.resume("default")
        assert waiting.result() == 2


def test_somebody_elses_key_is_no_pause(server: Server, serve: Callable[..., Worker]) -> None:
    server.client.rpush(PAUSED, "squat")
    worker = serve()
    told = Told(worker, server)
    with Hub(server.url) as hub:
        assert hub.call("note:1.0", n=1) == 1
        for change in (hub.pause, hub.resume):
            with pytest.raises(NotEnqueued, match="^Queue default could not be .*: WRONGTYPE"):
                change("default")
        server.client.delete(PAUSED)
        server.client.set(PAUSED, "soon")
        told.beats()
        assert hub.call("note:1.0", n=2) == 2
        assert told.events == []
        assert hub.pause("default") == int(server.client.get(PAUSED))
        assert hub.resume("default") is True


def test_what_cannot_be_paused_is_said(server: Server) -> None:
    with Hub(server.url) as hub:
        for name in ("", "a b", "{q}", "x" * 65, None, 7):
            for change in (hub.pause, hub.resume):
                with pytest.raises(ConfigError, match="is not the name of a queue: 1 to 64 letters"):
                    change(name)  # type: ignore[arg-type]
    with pytest.raises(HubClosed):
        hub.pause("default")
    with Hub("redis://127.0.0.1:1") as away:
        with pytest.raises(NotEnqueued, match="^Queue default could not be resumed: "):
            away.resume("default")


def test_an_async_hub_pauses_too(server: Server) -> None:
    async def both() -> None:
        async with AsyncHub(server.url) as hub:
            paused_ms = await hub.pause("other")
            assert int(server.client.get("pshub:{other}:paused")) == paused_ms
            assert await hub.resume("other") is True
            with pytest.raises(ConfigError):
                await hub.pause("no name")
        with pytest.raises(HubClosed):
            await hub.pause("other")

    asyncio.run(both())
    assert server.client.exists("pshub:{other}:paused") == 0
