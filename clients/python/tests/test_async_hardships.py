"""Handlers that are coroutines, and hubs, when processes are killed, told twice to stop, or forked; and what handlers may raise."""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Server, eventually
from job_tasks import hub, serve  # noqa: F401
from pshub import AsyncHub, Hub, PutOff, TaskError, TaskFailed, Worker, task
from test_async_tasks import Serve, blocking, rest
from waits import adelay, delay

Serve = Callable[..., Worker]


class Group(Exception):
    """As ``asyncio.TaskGroup`` raises it, which Python 3.10 has not."""

    def __init__(self, *exceptions: BaseException) -> None:
        super().__init__(f"unhandled errors in a TaskGroup ({len(exceptions)} sub-exceptions)")
        self.exceptions = exceptions


Group.__name__ = "BaseExceptionGroup"


@pytest.mark.parametrize(("name", "args"), [("again:1.0", {"ms": 20_000}), ("rest_again:1.0", {"s": 20})])
def test_a_second_signal_ends_a_worker_at_once(server: Server, start_worker: Any, name: str, args: dict[str, float]) -> None:
    worker = start_worker(server, "--lease", "2s")
    with Hub(server.url) as hub:
        pending = hub.submit(name, args, timeout=60)
        eventually(lambda: len(server.held()) == 1, "that it runs")
        worker.signal(signal.SIGTERM)
        eventually(lambda: '"draining":true' in "".join(server.client.hvals("pshub:stats")))
        # Another press than the first: those within a quarter of a second count as one.
        delay(0.3, "the command takes two signals within 0.25 s for one")
        worker.signal(signal.SIGTERM)
        # The handler would run for 20 s.
        assert worker.wait() == 128 + signal.SIGTERM and not pending.done()
        pending.cancel()
    eventually(lambda: server.client.llen("pshub:{default}:calls") == 0)


def test_what_a_group_of_exceptions_is_told_as(hub: Hub, serve: Serve) -> None:
    @task("grouped:1.0", retries=0)
    async def grouped(how: str) -> None:
        parts: dict[str, list[BaseException]] = {
            "one": [TaskError("no such city", code="NoSuchCity", http_status=404)],
            "nested": [Group(ValueError("deep"))],
            "two": [ValueError("the first"), KeyError("second")],
            "exit": [SystemExit(3)],
        }
        raise Group(*parts[how])

    serve(grouped)
    with pytest.raises(TaskFailed, match="^no such city$") as own:
        hub.call(grouped, how="one")
    assert (own.value.code, own.value.http_status) == ("NoSuchCity", 404)
    for how, told in (("nested", "^deep$"), ("two", r"\(2 sub-exceptions\): the first$"), ("exit", "^3$")):
        with pytest.raises(TaskFailed, match=told):
            hub.call(grouped, how=how)


@pytest.mark.skipif(not hasattr(asyncio, "TaskGroup"), reason="Python 3.10 has no TaskGroup")
def test_a_task_group_and_a_job_that_is_put_off_in_one(hub: Hub, serve: Serve) -> None:
    seen: list[int] = []

    @task("parts:1.0")
    async def parts() -> int:
        async def part() -> None:
            seen.append(1)
            if len(seen) == 1:
                raise PutOff(20)

        async with asyncio.TaskGroup() as group:
            group.create_task(part())
            group.create_task(adelay(0 if len(seen) else 20, "cancelled by the other part"))
        return len(seen)

    serve(parts)
    # It is no failure: the job has no other tries.
    assert hub.enqueue(parts, tracked=True, retries=0).result(timeout_ms=60_000) == 2


def test_what_ends_a_program_ends_a_handler_alone(hub: Hub, serve: Serve) -> None:
    @task("ends:1.0")
    async def ends(how: str) -> str:
        if how == "later":
            asyncio.get_running_loop().call_soon(interrupt)
        elif how == "loop":
            asyncio.get_running_loop().stop()
        else:
            raise {"interrupt": KeyboardInterrupt, "exit": SystemExit, "generator": GeneratorExit}[how]
        await adelay(0.05, "the loop is stopped meanwhile")
        return "went on"

    def interrupt() -> None:
        raise KeyboardInterrupt

    serve(ends)
    for how, told in (("interrupt", "KeyboardInterrupt"), ("exit", "SystemExit"), ("generator", "GeneratorExit")):
        with pytest.raises(TaskFailed, match=told):
            hub.call(ends, how=how)
    assert hub.call(ends, how="later") == hub.call(ends, how="loop") == "went on"


@pytest.mark.long
def test_thousands_of_calls_leave_nothing(hub: Hub, serve: Serve, caplog: Any) -> None:
    # Lines that pytest keeps.
    caplog.set_level(logging.CRITICAL, "pshub")

    @task("soon:1.0")
    async def soon(fails: bool = False) -> None:
        await asyncio.sleep(0)
        if fails:
            raise ValueError("no")

    @task("waits:1.0", timeout=20)
    async def waits() -> None:
        await adelay(20, "cancelled by its caller")

    worker = serve(soon, waits, slots=20)

    def many(count: int) -> int:
        """How many objects of ours there are then. Ids, which a worker remembers for a minute or two, are not among these."""
        for _ in range(count // 20):
            pending = [hub.submit(soon, fails=n % 2 == 0) for n in range(15)] + [hub.submit(waits) for _ in range(5)]
            for each in pending[15:]:
                each.cancel()
            codes = {getattr(each.exception(), "code", None) for each in pending}
            assert codes == {None, "TaskFailed", "Aborted"}
        eventually(lambda: worker.busy == 0)
        gc.collect()
        return sum(str(type(each).__module__).startswith("pshub") for each in gc.get_objects())

    before = many(400)
    assert many(2000) - before < 100


def _forked_child(hubs: tuple[Hub, AsyncHub], sends: Any) -> None:
    hub, async_hub = hubs

    async def called() -> Any:
        return await async_hub.call("twice:1.0", x=2, timeout=30)

    sends.send([hub.call("twice:1.0", x=1, timeout=30), asyncio.run(called()), hub.id])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_hubs_serve_a_process_of_multiprocessing(hub: Hub, serve: Serve, server: Server) -> None:
    @task("twice:1.0")
    async def twice(x: int) -> int:
        return 2 * x

    serve(twice)

    async def main() -> None:
        async with AsyncHub(server.url) as async_hub:
            assert await async_hub.call(twice, x=5) == 10
            # In the midst of a running loop, beside the threads of a worker and a hub.
            receives, sends = multiprocessing.Pipe(duplex=False)
            child = multiprocessing.get_context("fork").Process(target=_forked_child, args=((hub, async_hub), sends))
            child.start()
            assert await asyncio.to_thread(receives.poll, 15), "the child tells nothing"
            first, second, child_id = receives.recv()
            await asyncio.to_thread(child.join, 10)
            assert (first, second, child.exitcode) == (2, 4, 0) and child_id != hub.id
            assert await async_hub.call(twice, x=6) == 12 == hub.call(twice, x=6)

    assert hub.call(twice, x=1) == 2
    asyncio.run(main())


def test_a_handler_that_blocks_the_loop_is_named(hub: Hub, serve: Serve, caplog: Any) -> None:
    told: dict[str, Any] = {}
    worker = serve(blocking, rest)
    for event in ("loop:stuck", "loop:blocked"):
        worker.events.on(event, lambda told_of, event=event: told.update({event: told_of}))  # type: ignore[misc]
    with caplog.at_level(logging.WARNING, "pshub"):
        other = hub.submit(rest, s=5)
        hub.call(blocking, s=2.8)
        eventually(lambda: "loop:blocked" in told)
    other.cancel()
    assert told["loop:stuck"]["tasks"] == told["loop:blocked"]["tasks"] == ["blocking:1.0"]
    stack = told["loop:stuck"]["stack"]
    assert stack.count("File") == 1 and "in blocking\n    select.select([], [], [], s)" in stack
    assert told["loop:blocked"]["ms"] > 2000
    assert (told["loop:blocked"]["worker"], told["loop:blocked"]["queue"]) == (worker.id, "q")
    lines = [record.getMessage() for record in caplog.records]
    assert [line for line in lines if line.startswith("event loop was blocked") and "tasks=['blocking:1.0']" in line]
