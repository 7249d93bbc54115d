"""Handlers that are coroutines."""

from __future__ import annotations

import asyncio
import contextvars
import select
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Server, eventually
from job_tasks import hub, serve  # noqa: F401
from pshub import Aborted, Context, Hub, HubError, TaskError, TaskFailed, Timeout, Worker, task
from waits import adelay

Serve = Callable[..., Worker]

#: What handlers saw, in this process.
seen: list[Any] = []
user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    seen.clear()


@task("add:1.0")
async def add(x: int, y: int = 2) -> int:
    await asyncio.sleep(0)
    return x + y


@task("rest:1.0", timeout=20)
async def rest(s: float, ctx: Context) -> str:
    try:
        seen.append("began")
        await adelay(s, "the handler waits")
    except asyncio.CancelledError:
        seen.append(("cancelled", ctx.cancelled, ctx.reason and ctx.reason.code))
        raise
    return "done"


@task("again:1.0", idempotent=True, timeout=20)
async def again(s: float) -> None:
    await adelay(s, "the handler waits")


@task("fail:1.0")
async def fail(how: str) -> Any:
    await asyncio.sleep(0)
    if how == "task":
        raise TaskError("no such city", code="NoSuchCity", http_status=404)
    if how == "exit":
        raise SystemExit(3)
    if how == "part exits":

        async def part() -> None:
            raise SystemExit(3)

        await asyncio.gather(part())
    if how == "cancelled":
        raise asyncio.CancelledError
    return {"x": object()}


class Unshown(Exception):
    def __str__(self) -> str:
        raise SystemExit(1)


@task("unshown:1.0")
async def unshown() -> None:
    raise Unshown


@task("now:1.0")
def now(x: int) -> int:
    return x


@task("outer:1.0", timeout=20)
async def outer(ctx: Context, depth: int = 2) -> Any:
    if depth:
        return await ctx.acall("outer:1.0", depth=depth - 1)
    return {"caller": ctx.caller, "left": ctx.remaining, "sum": await ctx.acall(add, x=1), "sync": await ctx.acall(now, {"x": 5})}


@task("outer_rest:1.0", timeout=20)
async def outer_rest(ctx: Context) -> Any:
    try:
        return await ctx.acall(rest, s=20)
    except asyncio.CancelledError:
        seen.append("outer cancelled")
        raise


@task("blocking:1.0", timeout=20)
async def blocking(s: float) -> None:
    select.select([], [], [], s)


def test_calls_of_coroutines(hub: Hub, serve: Serve) -> None:
    serve(add, now)
    assert hub.call(add, x=1) == 3
    assert hub.call("add:1.0", {"x": 1, "y": 1}) == 2
    assert [each.result() for each in [hub.submit(now, x=n) for n in range(20)]] == list(range(20))
    with pytest.raises(HubError, match="x") as wrong:
        hub.call("add:1.0", y="two")
    assert wrong.value.code == "InvalidArgs"


def test_they_hold_a_slot_each_and_no_thread(hub: Hub, serve: Serve) -> None:
    worker = serve(rest, slots=50, job_slots=0)
    pending = [hub.submit(rest, s=1) for _ in range(60)]
    eventually(lambda: worker.busy == len(seen) == 50)
    # Those of an earlier test may be about to end.
    kinds = ("pshub-asyn", "pshub-slot")
    eventually(lambda: [each.name[:10] for each in threading.enumerate() if each.name[:10] in kinds] == [kinds[0]])
    assert {each.result() for each in pending} == {"done"}


def test_how_they_fail(hub: Hub, serve: Serve) -> None:
    serve(fail, add)
    with pytest.raises(TaskFailed, match="no such city") as own:
        hub.call(fail, how="task")
    assert (own.value.code, own.value.http_status) == ("NoSuchCity", 404)
    for how, told in (("exit", "3"), ("cancelled", "CancelledError")):
        with pytest.raises(TaskFailed, match=told):
            hub.call(fail, how=how)
    with pytest.raises(HubError) as wrong:
        hub.call(fail, how="result")
    assert wrong.value.code == "InvalidResult"
    # What ends a loop elsewhere: the others go on.
    pending = hub.submit(fail, how="part exits", timeout=30)
    assert hub.call(add, x=1) == 3
    with pytest.raises(TaskFailed, match="3"):
        pending.result()


def test_the_coroutine_is_cancelled_when_its_caller_gives_up(hub: Hub, serve: Serve) -> None:
    worker = serve(rest)
    pending = hub.submit(rest, s=20)
    eventually(lambda: seen == ["began"])
    pending.cancel()
    with pytest.raises(Aborted):
        pending.result()
    eventually(lambda: seen == ["began", ("cancelled", True, "Aborted")])
    eventually(lambda: worker.busy == 0)


def test_and_at_its_deadline(hub: Hub, serve: Serve, server: Server) -> None:
    worker = serve(rest)
    with pytest.raises(Timeout):
        hub.call(rest, s=20, timeout=0.3)
    eventually(lambda: seen == ["began", ("cancelled", True, "Timeout")])
    eventually(lambda: worker.busy == 0 and server.held() == [])


def test_one_that_does_not_listen_is_given_up(hub: Hub, serve: Serve) -> None:
    @task("deaf:1.0")
    async def deaf() -> None:
        for _ in range(3):
            try:
                await adelay(60, "cancelled at its deadline")
            except asyncio.CancelledError:
                seen.append("cancelled")

    worker = serve(deaf, rest)
    with pytest.raises(Timeout):
        hub.call(deaf, timeout=0.2)
    eventually(lambda: worker.busy == 0)
    assert seen == ["cancelled"]
    assert hub.call(rest, s=0) == "done"


def test_nested_calls(hub: Hub, serve: Serve) -> None:
    serve(outer, add, now, slots=4)
    found = hub.call(outer, timeout=30)
    assert (found["caller"], found["sum"], found["sync"]) == ("q", 3, 5)
    assert 0 < found["left"] < 30


def test_nested_calls_go_with_the_outer_one(hub: Hub, serve: Serve) -> None:
    worker = serve(outer_rest, rest)
    pending = hub.submit(outer_rest)
    eventually(lambda: worker.busy == 2 and seen == ["began"])
    pending.cancel()
    eventually(lambda: sorted(map(str, seen)) == ["('cancelled', True, 'Aborted')", "began", "outer cancelled"])
    eventually(lambda: worker.busy == 0)


def test_a_nested_call_that_would_hold_up_the_loop_is_refused(hub: Hub, serve: Serve) -> None:
    @task("holds:1.0")
    async def holds(ctx: Context, apart: bool) -> Any:
        return await asyncio.to_thread(ctx.call, add, x=1) if apart else ctx.call(add, x=1)

    serve(holds, add)
    with pytest.raises(TaskFailed, match="await ctx.acall"):
        hub.call(holds, apart=False)
    assert hub.call(holds, apart=True) == 3


def test_a_worker_that_stops_waits_for_them_and_cancels_them_then(hub: Hub, serve: Serve) -> None:
    worker = serve(rest, again)
    short, long, other = hub.submit(rest, s=0.3), hub.submit(rest, s=20), hub.submit(again, s=20)
    eventually(lambda: worker.busy == 3)
    begun = time.monotonic()
    worker.stop(grace=0.8)
    assert time.monotonic() - begun > 0.7
    assert short.result() == "done"
    with pytest.raises(HubError, match="stopped before") as lost:
        long.result()
    assert lost.value.code == "WorkerLost"
    assert seen == ["began", "began", ("cancelled", True, "WorkerLost")]
    # What may run twice waits for another worker.
    assert not other.done()
    other.cancel()


def test_a_worker_is_stopped_by_a_listener_of_its_own(hub: Hub, serve: Serve, server: Server) -> None:
    worker = serve(add)
    worker.events.on("task:settled", lambda _: worker.stop())
    assert hub.call(add, x=1) == 3
    assert worker.wait(5)
    assert server.leftovers() == []


def test_an_error_that_ends_the_program_when_it_is_shown(hub: Hub, serve: Serve) -> None:
    serve(unshown)
    with pytest.raises(TaskFailed, match="a Unshown that cannot be shown"):
        hub.call(unshown, timeout=30)


def test_context_variables(hub: Hub, serve: Serve) -> None:
    @task("who:1.0")
    async def who(name: str | None = None) -> str:
        before = user.get()
        if name is not None:
            user.set(name)
        await asyncio.sleep(0)
        return f"{before} {user.get()}"

    token = user.set("somebody")
    try:
        serve(who)
    finally:
        user.reset(token)
    assert hub.call(who, name="else") == "nobody else"
    assert hub.call(who) == "nobody nobody"


def test_jobs(hub: Hub, serve: Serve) -> None:
    @task("flaky:1.0", backoff=10)
    async def flaky(ctx: Context) -> int:
        if ctx.attempt < 3:
            raise ValueError("not yet")
        return ctx.attempt

    @task("merge:1.0", keyed="merged", batch=5)
    async def merge(by_key: dict[str, list[dict[str, int]]], ctx: Context) -> None:
        await asyncio.sleep(0)
        seen.append(by_key)
        if ctx.attempt == 1:
            raise ValueError("not yet")

    worker = serve(flaky, rest, merge)
    assert hub.enqueue(flaky, tracked=True).result(timeout_ms=60_000) == 3
    job = hub.enqueue(rest, {"s": 20}, tracked=True)
    eventually(lambda: job.status().state == "running" and seen == ["began"])
    assert job.cancel() is False
    eventually(lambda: job.status().state == "cancelled")
    assert seen.pop() == ("cancelled", True, "Aborted")
    seen.clear()
    hub.enqueue(merge, {"a": 1}, key="k", delay_ms=0)
    eventually(lambda: len(seen) == 1 and hub.key(merge, "k").status().state == "later")
    hub.key(merge, "k").run_now()
    eventually(lambda: len(seen) == 2 and worker.busy == 0)
    assert seen == [{"k": [{"a": 1}]}] * 2
    eventually(lambda: hub.key(merge, "k").status().state == "empty")


def test_a_coroutine_that_a_function_returns_is_no_result(hub: Hub, serve: Serve) -> None:
    serve(task("hidden:1.0")(lambda: add(1)))
    with pytest.raises(TaskFailed, match="declare it with async def"):
        hub.call("hidden:1.0")
