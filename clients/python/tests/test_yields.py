"""Handlers that yield, streams of them, and progress."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any

import pytest

from conftest import Proxy, Server, eventually
from job_tasks import hub, serve  # noqa: F401
from pshub import (
    AsyncHub,
    Context,
    Hub,
    InvalidArgs,
    InvalidResult,
    NoSuchTask,
    OutcomeUnknown,
    TaskError,
    TaskFailed,
    Timeout,
    Worker,
    WorkerLost,
    task,
)  # fmt: skip
from pshub.wire.streams import STREAM_WINDOW
from waits import PATIENCE_S, adelay, delay

Serve = Callable[..., Worker]
#: What handlers saw, in this process.
seen: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    seen.clear()


@task("count:1.0", timeout=30)
def count(count: int) -> Generator[int, None, str]:
    yield from range(1, count + 1)
    return f"{count} told"


@task("acount:1.0", timeout=30)
async def acount(count: int) -> AsyncIterator[int]:
    for n in range(1, count + 1):
        yield n
        if n % 50 == 0:
            await asyncio.sleep(0)


@task("fails:1.0")
def fails(after: int) -> Iterator[int]:
    yield from range(after)
    raise TaskError("no more", code="NoMore")


@task("endless:1.0", timeout=60)
def endless(ctx: Context, pause: float = 0) -> Iterator[int]:
    try:
        for n in itertools.count(1):
            seen["yielded"] = n
            yield n
            if pause:
                delay(pause, "the stream takes a while")
    finally:
        seen["ended"] = seen.get("ended", 0) + 1


@task("aendless:1.0", timeout=60)
async def aendless(pause: float = 0) -> AsyncIterator[int]:
    try:
        for n in itertools.count(1):
            seen["yielded"] = n
            yield n
            await adelay(pause, "the stream takes a while")
    finally:
        seen["ended"] = seen.get("ended", 0) + 1


@task("odd:1.0")
def odd(how: str) -> Iterator[Any]:
    yield 1
    yield {1, 2, lambda: 1} if how == "no JSON" else "x" * 2000


@task("steps:1.0", timeout=20)
def steps(ctx: Context, s: float = 0.3) -> str:
    for done in (1, 2, 3):
        ctx.progress(done, 3, f"step {done}")
        delay(s, "progress that follows at once takes the place of what was said before")
    return "ready"


@task("plain:1.0")
def plain() -> int:
    return 5


TASKS = [count, acount, fails, endless, aendless, odd, steps, plain]


def test_streams_of_asyncio(server: Server, serve: Serve) -> None:
    serve(*TASKS)

    async def read() -> None:
        async with AsyncHub(server.url) as hub:
            for name in ("count:1.0", "acount:1.0"):
                assert [chunk async for chunk in hub.stream(name, count=700)] == list(range(1, 701))
            async for chunk in hub.stream("aendless:1.0", pause=0.01):
                if chunk == 3:
                    break
            with pytest.raises(Timeout, match="no chunk for 100 ms after 1 chunks"):
                async for _ in hub.stream("endless:1.0", {"pause": 0.5}, idle=0.1):
                    pass

    asyncio.run(read())
    # None that goes on may be seen by the tests behind this one.
    eventually(lambda: seen.get("ended") == 2)


def test_who_asks_for_no_stream_gets_the_whole(serve: Serve, hub: Hub) -> None:
    serve(*TASKS)
    assert hub.call(count, count=3) == "3 told"
    assert hub.call("acount:1.0", count=3) == [1, 2, 3]
    assert acount.result == {"type": "array", "items": {"type": "integer"}}
    assert count.result == {"type": "string"}
    job = hub.enqueue("acount:1.0", {"count": 2}, keep_result_ms=1000)
    assert job.result() == [1, 2]


def test_the_error_comes_behind_the_chunks_before_it(serve: Serve, hub: Hub) -> None:
    serve(*TASKS, max_payload_bytes=1500)
    chunks = []
    with pytest.raises(TaskFailed) as raised:
        for chunk in hub.stream("fails:1.0", after=2):
            chunks.append(chunk)
    assert (raised.value.code, chunks) == ("NoMore", [0, 1])
    for how, said in [("no JSON", "not JSON"), ("large", "A chunk of odd:1.0 is larger than 1500 bytes.")]:
        with pytest.raises(InvalidResult, match=said):
            list(hub.stream("odd:1.0", how=how))
    with pytest.raises(NoSuchTask):
        list(hub.stream("nothing:1.0"))
    for options in ({"idle": 0}, {"on_progress": 3}, {"timeout": "x"}):
        with pytest.raises(InvalidArgs):
            list(hub.stream("plain:1.0", {}, **options))
    stream = hub.stream("plain:1.0")
    assert (list(stream), stream.result) == ([], 5)


@pytest.mark.parametrize("name", ["endless:1.0", "aendless:1.0"])
def test_the_worker_waits_while_nobody_reads_and_stops_when_the_loop_is_left(serve: Serve, hub: Hub, name: str) -> None:
    serve(*TASKS)
    for read, chunk in enumerate(hub.stream(name), 1):
        assert chunk == read
        if read == 1:
            eventually(lambda: seen.get("yielded", 0) >= STREAM_WINDOW)
            # Whatever else is sent to this hub comes meanwhile.
            for _ in range(10):
                assert hub.call("plain:1.0") == 5
            assert seen["yielded"] <= STREAM_WINDOW + 1
        if read == 3 * STREAM_WINDOW:
            break
    eventually(lambda: seen.get("ended"))
    assert seen["yielded"] <= 4 * STREAM_WINDOW + 1


def test_a_stream_goes_on_over_cut_connections(server: Server, serve: Serve, make_proxy: Callable[[Server], Proxy]) -> None:
    serve(*TASKS)
    proxy = make_proxy(server)
    with Hub(proxy.url) as hub:
        chunks = []
        for chunk in hub.stream("count:1.0", {"count": 4000}, timeout=25):
            chunks.append(chunk)
            if chunk % 1000 == 500:
                lost = proxy.lost_bytes
                proxy.loses_answers = True
                eventually(lambda: proxy.lost_bytes > lost)
                proxy.loses_answers = False
                proxy.cut()
        assert chunks == list(range(1, 4001))


def test_what_redis_has_forgotten_is_told(server: Server, serve: Serve, hub: Hub) -> None:
    serve(*TASKS)
    chunks = []
    stream = hub.stream("endless:1.0", pause=0.02)
    with pytest.raises(OutcomeUnknown, match="was lost"):
        for chunk in stream:
            chunks.append(chunk)
            if chunk == 3:
                server.client.rpush(f"pshub:reply:{{{hub.id}}}", f'{{"id":"{stream.id}","chunk":900,"value":1}}')
    assert chunks == list(range(1, len(chunks) + 1))


def test_a_killed_worker_ends_it_as_worker_lost(server: Server, serve: Serve, hub: Hub, start_worker: Any) -> None:
    dying = start_worker(server, "--queue", "q")
    stream = iter(hub.stream("ticks:1.0", {}, timeout=30))
    chunks = [next(stream) for _ in range(3)]
    dying.process.kill()
    heir = start_worker(server, "--queue", "q")
    with pytest.raises(WorkerLost):
        for chunk in stream:
            chunks.append(chunk)
    assert chunks == list(range(1, len(chunks) + 1))
    heir.close()


def test_progress_of_a_call_comes_to_who_asks(server: Server, serve: Serve, hub: Hub) -> None:
    serve(steps)
    told: list[Any] = []
    assert hub.call("steps:1.0", on_progress=told.append) == hub.call(steps) == "ready"
    assert [each.message for each in told] == ["step 1", "step 2", "step 3"]
    later: list[Any] = []
    assert hub.submit(steps, on_progress=later.append).result() == "ready"
    assert later == told

    async def read() -> list[Any]:
        async with AsyncHub(server.url) as other:
            heard: list[Any] = []
            await other.call("steps:1.0", on_progress=heard.append)
            await other.submit("steps:1.0", on_progress=heard.append)
            return heard

    assert asyncio.run(read()) == told + told


def test_a_job_that_was_given_up_tells_nothing_more(server: Server, serve: Serve, hub: Hub) -> None:
    contexts: list[Context] = []

    @task("deaf:1.0", retries=0, job_timeout_ms=50)
    def deaf(ctx: Context) -> None:
        ctx.progress(1)
        contexts.append(ctx)
        goes_on.wait(PATIENCE_S)

    @task("next:1.0")
    def following() -> None:
        pass

    goes_on = threading.Event()
    serve(deaf, following)
    job = hub.enqueue(deaf, tracked=True)
    with pytest.raises(Timeout):
        job.result()
    eventually(lambda: not server.client.keys("*:progress:*"))
    contexts[0].progress(2)
    hub.enqueue(following, tracked=True).result()
    assert server.client.keys("*:progress:*") == []
    goes_on.set()


def test_what_hears_progress_may_fail_and_must_be_a_function(serve: Serve, hub: Hub) -> None:
    serve(steps)
    problems: list[Any] = []
    hub.events.on("problem", problems.append)
    assert hub.call("steps:1.0", on_progress=lambda progress: progress.nothing) == "ready"
    assert [each["where"] for each in problems] == ["on_progress"] * 3
    with pytest.raises(InvalidArgs, match="on_progress must be a function, not 3"):
        hub.call("steps:1.0", on_progress=3)  # type: ignore[arg-type]


@task("astorm:1.0", timeout=30)
async def astorm() -> AsyncIterator[int]:
    # Never waits, and so never lets another coroutine run by itself.
    while not seen.get("calm"):
        seen["yielded"] = seen.get("yielded", 0) + 1
        yield seen["yielded"]


@task("acalm:1.0", timeout=30)
async def acalm() -> str:
    seen["calm"] = True
    return "here"


def test_others_run_beside_one_that_waits_for_nothing_and_whose_caller_asked_for_no_stream(serve: Serve, hub: Hub) -> None:
    serve(astorm, acalm)
    whole = hub.submit("astorm:1.0")
    eventually(lambda: seen.get("yielded"))
    assert hub.call("acalm:1.0") == "here"
    assert whole.result(PATIENCE_S)[0] == 1
