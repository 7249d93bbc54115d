"""Calls from hub to worker over a real Redis, in one process."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import threading
from typing import Any

import pytest

from called_tasks import TASKS, echo
from conftest import Server, eventually
from pshub import (
    Aborted,
    AsyncHub,
    ConfigError,
    Expired,
    Hub,
    HubClosed,
    InvalidArgs,
    InvalidResult,
    NoSuchTask,
    PayloadTooLarge,
    TaskFailed,
    Worker,
)
from waits import aeventually


def test_errors_say_what_happened(hub: Hub, worker: Worker) -> None:
    with pytest.raises(NoSuchTask, match="Did you mean echo:1.0"):
        hub.call("ecco:1.0")
    with pytest.raises(NoSuchTask, match="Known versions: add:1.0, add:1.1"):
        hub.call("add:3.0")
    with pytest.raises(NoSuchTask, match="is not a task name"):
        hub.call("a b")
    with pytest.raises(InvalidArgs) as invalid:
        hub.call("add:1.0", x="1", z=1)
    assert sorted(p["pointer"] for p in invalid.value.data["problems"]) == ["/x", "/z"]
    with pytest.raises(InvalidArgs, match="__proto__"):
        hub.call("echo:1.0", {"__proto__": 1})
    with pytest.raises(InvalidArgs, match="not JSON"):
        hub.call("echo:1.0", {"x": float("nan")})
    with pytest.raises(PayloadTooLarge):
        hub.call("echo:1.0", "x" * 1_100_000)
    with pytest.raises(TaskFailed, match="^wrong$") as failed:
        hub.call("fail:1.0")
    assert (failed.value.ran, failed.value.retryable, failed.value.http_status) == ("yes", False, 500)
    with pytest.raises(TaskFailed, match="the disk is full") as failed:
        hub.call("fail:1.0", how="task")
    assert (failed.value.retryable, failed.value.data) == (True, {"disk": 1})
    with pytest.raises(TaskFailed):
        hub.call("fail:1.0", how="exit")
    for how in ("nan", "big", "object", "schema"):
        with pytest.raises(InvalidResult):
            hub.call("bad_result:1.0", how=how)
    with pytest.raises(Expired):
        hub.call("echo:1.0", timeout=0)
    with pytest.raises(InvalidArgs):
        hub.call("echo:1.0", timeout="soon")  # type: ignore[arg-type]
    assert hub.call("echo:1.0", 1) == 1


def test_gather(hub: Hub) -> None:
    outcomes = hub.gather({"one": ("add:1.0", {"x": 1})}, two=("add:1.0", {}), three=("wait:1.0", {"s": 5}, 0.5), four=("nix", {}), timeout=30)
    assert outcomes["one"].ok and outcomes["one"].value == 3 and outcomes["one"].ms == round(outcomes["one"].ms, 3) > 0
    assert [outcomes[name].error.code for name in ("two", "three", "four")] == ["InvalidArgs", "Timeout", "NoSuchTask"]


def test_threads_share_a_hub(hub: Hub) -> None:
    wrong = []

    def calls(base: int) -> None:
        for n in range(50):
            if hub.call("add:1.0", x=base + n) != base + n + 2:
                wrong.append(n)

    threads = [threading.Thread(target=calls, args=(base * 1000,)) for base in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_async_hub(server: Server, worker: Worker) -> None:
    async def main() -> None:
        async with AsyncHub(server.url) as hub:
            results = await asyncio.gather(*(hub.call("add:1.0", x=n) for n in range(300)))
            assert results == [n + 2 for n in range(300)]
            outcomes = await hub.gather(a=("add:1.0", {"x": 1}), b=("fail:1.0",))
            assert outcomes["a"].value == 3 and outcomes["b"].error.code == "TaskFailed"
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(hub.call("wait:1.0", s=20, timeout=20), 0.2)
            await aeventually(lambda: not worker.busy)
        with pytest.raises(HubClosed):
            await hub.call("add:1.0", x=1)

    asyncio.run(main())


def test_a_forked_child_has_a_hub_of_its_own(hub: Hub) -> None:
    assert hub.call("add:1.0", x=1) == 3
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        # As a prefork web server does it: the parent's hub, used in the child.
        try:
            told = json.dumps([hub.call("add:1.0", x=10), hub.id])
        except BaseException as error:
            told = json.dumps([repr(error), ""])
        os.write(writes, told.encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        result, child_id = json.loads(pipe.read())
    os.waitpid(child, 0)
    assert result == 12 and child_id != hub.id
    for n in range(20):
        assert hub.call("add:1.0", x=n) == n + 2


def test_what_a_hub_and_a_worker_hold_is_two_connections_each(server: Server, hub: Hub) -> None:
    hub.call("add:1.0", x=1)
    names = sorted(client["name"] for client in server.client.client_list() if client["name"].startswith("pshub"))
    assert names == ["pshub-hub-blocking", "pshub-hub-commands", "pshub-worker-blocking", "pshub-worker-commands"]


def test_settings_that_cannot_work_are_refused(server: Server) -> None:
    for options in ({"slots": 0}, {"queue": "a b"}, {"lease": 1}, {"statsd": "here"}, {"slots": True}):
        with pytest.raises(ConfigError):
            Worker(server.url, tasks=[echo], **options)
    for make in (lambda **nix: Worker(tasks=[echo], **nix), Hub, AsyncHub):
        with pytest.raises(TypeError, match="nix"):
            make(nix=1)
    for target in ("http://x", "redis://127.0.0.1/3", 5, {"db": 1}):
        with pytest.raises(ConfigError):
            Hub(target)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="twice"):
        Worker(server.url, tasks=[echo, echo])
    server.client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        with pytest.raises(ConfigError, match="allkeys-lru"):
            Worker(server.url, tasks=[echo]).start()
    finally:
        server.client.config_set("maxmemory-policy", "noeviction")


def test_nothing_is_left_running(server: Server) -> None:
    before = {*threading.enumerate()}
    worker = Worker(server.url, tasks=TASKS).start()
    with Hub(server.url) as hub:
        hub.call("add:1.0", x=1)
    worker.stop()
    eventually(lambda: not set(threading.enumerate()) - before)
    gc.collect()
    assert server.leftovers() == []


def test_a_nested_call_goes_with_its_outer_one(hub: Hub, worker: Worker) -> None:
    pending = hub.submit("nested_wait:1.0", timeout=20)
    eventually(lambda: worker.busy == 2)
    pending.cancel()
    with pytest.raises(Aborted):
        pending.result()
    # The inner one has 15 s, and nobody needs it any more.
    eventually(lambda: worker.busy == 0)


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
