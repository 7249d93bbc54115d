"""Context variables: what callbacks and handlers see of them, and what is kept alive. One AsyncHub on several event loops."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import gc
import sys
import threading
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import Server, eventually
from job_tasks import hub, serve  # noqa: F401
from pshub import AsyncHub, ConfigError, Context, Hub, InvalidArgs, Task, Worker, task

Serve = Callable[..., Worker]
user: contextvars.ContextVar[Any] = contextvars.ContextVar("user", default="nobody")


class Big:
    """Something that a context variable holds."""


def said() -> tuple[Task[..., Any], Task[..., Any]]:
    @task("said:1.0")
    def on_thread(ctx: Context) -> str:
        ctx.progress(1)
        before = user.get()
        user.set("a handler")
        return str(before)

    @task("later:1.0")
    async def on_loop() -> str:
        before = user.get()
        user.set("a handler")
        return str(before)

    return on_thread, on_loop


def test_handlers_see_no_variables_of_others(hub: Hub, serve: Serve) -> None:
    token = user.set("who started the worker")
    serve(*said(), slots=1)
    user.reset(token)
    assert {hub.call(name) for name in ("said:1.0", "later:1.0") * 2} == {"nobody"}


def seen_by(name: str, seen: list[Any]) -> Callable[[Any], None]:
    return lambda told: seen.append((name, user.get()))


def test_callbacks_of_a_hub_see_those_of_their_call_and_nothing_keeps_them(server: Server, serve: Serve) -> None:
    serve(*said())
    hub = Hub(server.url)
    seen: list[Any] = []
    hub.events.on("call:settled", seen_by("settled", seen))
    held = []

    def ask(name: str) -> None:
        big = Big()
        held.append(weakref.ref(big))
        user.set(name)
        kept.set(big)
        hub.call("said:1.0", on_progress=seen_by("progress", seen))
        list(hub.stream("said:1.0", on_progress=seen_by("stream", seen)))
        pending = hub.submit("said:1.0")
        pending.add_done_callback(seen_by("done", seen))
        pending.result()
        hub.enqueue("said:1.0", {}, queue="q")

    kept: contextvars.ContextVar[Any] = contextvars.ContextVar("kept")
    for name in ("A", "B"):
        contextvars.copy_context().run(ask, name)
    eventually(lambda: len([each for each in seen if each[0] == "settled"]) == 6)
    assert {name for name, _ in seen} == {"settled", "progress", "stream", "done"}
    assert {got for _, got in seen[: len(seen) // 2]} == {"A"} and {got for _, got in seen[len(seen) // 2 :]} == {"B"}
    gc.collect()
    assert [each() for each in held] == [None, None]
    hub.close()


def test_calls_that_are_refused_at_once_are_told_in_their_context_too(server: Server, serve: Serve) -> None:
    @task("outer:1.0")
    def outer(ctx: Context) -> None:
        user.set("a handler")
        with pytest.raises(InvalidArgs):
            ctx.call("said:1.0", {}, queue="no queue")

    seen: list[Any] = []
    serve(*said(), outer).events.on("call:settled", seen_by("nested", seen))
    with Hub(server.url) as hub:
        hub.call("outer:1.0")
        hub.events.on("call:settled", seen_by("hub", seen))

        def ask() -> None:
            user.set("A")
            for read in (lambda: hub.call("said:1.0", {}, queue="no queue"), lambda: list(hub.stream("said:1.0", {}, queue="no queue"))):
                with pytest.raises(InvalidArgs):
                    read()

        contextvars.copy_context().run(ask)
        eventually(lambda: len(seen) == 3)
    assert seen == [("nested", "a handler"), ("hub", "A"), ("hub", "A")]


def test_callbacks_of_an_async_hub_see_those_of_their_call_and_nothing_keeps_them(server: Server, serve: Serve) -> None:
    serve(*said())
    seen: list[Any] = []
    held = []

    async def ask(hub: AsyncHub, name: str) -> None:
        big = Big()
        held.append(weakref.ref(big))
        user.set(name)
        kept: contextvars.ContextVar[Any] = contextvars.ContextVar("kept")
        kept.set(big)
        await hub.call("said:1.0", on_progress=seen_by(name, seen))
        async for _ in hub.stream("said:1.0", on_progress=seen_by(name, seen)):
            pass
        await hub.enqueue("said:1.0", {}, queue="q")

    async def main() -> None:
        async with AsyncHub(server.url) as hub:
            hub.events.on("call:settled", lambda told: seen.append((user.get(), user.get())))
            for name in ("A", "B"):
                await asyncio.get_running_loop().create_task(ask(hub, name))
            gc.collect()
            assert held[0]() is None

    asyncio.run(main())
    gc.collect()
    assert held[1]() is None
    assert {name for name, _ in seen} == {"A", "B"} and all(name == got for name, got in seen)


def connections(server: Server) -> int:
    return sum(each["name"].startswith("pshub-hub") for each in server.client.client_list())


def test_each_event_loop_has_a_hub_of_its_own(server: Server, serve: Serve) -> None:
    serve(*said())
    hub = AsyncHub(server.url)
    both, over = threading.Barrier(2), threading.Event()

    async def many() -> None:
        for _ in range(20):
            assert await hub.call("said:1.0") == "nobody"

    def on_own_loop() -> None:
        async def main() -> None:
            both.wait()
            await many()
            await asyncio.get_running_loop().run_in_executor(None, over.wait)

        asyncio.run(main())

    # One more, whose loop is closed without winding up, and one that is neither closed nor used any more.
    left, kept = asyncio.new_event_loop(), asyncio.new_event_loop()
    with concurrent.futures.ThreadPoolExecutor() as threads:
        running = [threads.submit(on_own_loop) for _ in range(2)]
        try:
            eventually(lambda: connections(server) == 4, "two connections for each loop")
            for loop in (left, kept):
                loop.run_until_complete(many())
            left.close()
            assert connections(server) == 8
            asyncio.run(many())
            eventually(lambda: connections(server) == 6, "the ended loop's are closed")
            asyncio.run(hub.close())
            eventually(lambda: connections(server) == 0, "those of loops that run elsewhere are closed, too")
        finally:
            over.set()
        for each in running:
            each.result()
    kept.close()


@pytest.mark.parametrize("ends", [True, False])
def test_closing_after_its_loop_has_ended(server: Server, serve: Serve, ends: bool) -> None:
    serve(*said())
    hub = AsyncHub(server.url)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(hub.call("said:1.0"))
    if ends:
        loop.close()
    asyncio.run(hub.close())
    eventually(lambda: connections(server) == 0)
    loop.close()


def test_gevent_without_its_threads_is_refused_at_the_start(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Hub(server.url)
    patched = SimpleNamespace(is_module_patched=lambda name: name in ("select", "socket"))
    monkeypatch.setitem(sys.modules, "gevent.monkey", patched)
    for start in (lambda: Hub(server.url), lambda: made.call("said:1.0"), Worker(server.url, tasks=[*said()]).start):
        with pytest.raises(ConfigError, match=r"call patch_all\(\) without thread=False"):
            start()
    made.close()
