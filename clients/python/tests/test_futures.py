"""What submit returns goes with whatever takes futures, and a call that is late is a TimeoutError."""

from __future__ import annotations

import asyncio
import concurrent.futures
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from called_tasks import add, fail, wait
from conftest import Server, eventually
from job_tasks import hub, serve  # noqa: F401
from pshub import Aborted, AsyncHub, Hub, InvalidResult, TaskFailed, Timeout, Worker, task
from pshub.hub.loop import LoopThread
from waits import PATIENCE_S, adelay, aeventually

Serve = Callable[..., Worker]


@dataclass
class Size:
    width: int


@task("rest:1.0", timeout=30)
async def rest(s: float) -> str:
    await adelay(s, "the handler waits")
    return "done"


@task("size:1.0")
def size(width: int) -> Size:
    return Size(width)


def test_as_completed_and_wait(hub: Hub, serve: Serve) -> None:
    may_end = threading.Event()

    @task("gated:1.0", timeout=120)
    def gated() -> bool:
        return may_end.wait(PATIENCE_S)

    worker = serve(wait, add, gated)
    slow = hub.submit(gated)
    quick = [hub.submit(add, x=n) for n in range(5)]
    futures: list[concurrent.futures.Future[Any]] = [slow, *quick]
    ended: list[Any] = []
    for each in concurrent.futures.as_completed(futures, timeout=PATIENCE_S):
        ended.append(each)
        if len(ended) == 5:
            may_end.set()
    assert ended[-1] is slow and {each.result() for each in ended[:-1]} == {2, 3, 4, 5, 6}
    waiting = hub.submit(wait, s=60, timeout=60)
    done, pending = concurrent.futures.wait([waiting, hub.submit(add, x=1)], return_when="FIRST_COMPLETED")
    assert [each.result() for each in done] == [3] and pending == {waiting}
    waiting.cancel()
    eventually(lambda: worker.busy == 0)
    assert all(isinstance(each, concurrent.futures.Future) for each in futures)


def test_callbacks_and_failures(hub: Hub, serve: Serve) -> None:
    serve(fail, add)
    told: list[Any] = []
    failed = hub.submit(fail, how="task")
    failed.add_done_callback(lambda ended: told.append((ended, type(ended.exception()))))
    assert isinstance(failed.exception(PATIENCE_S), TaskFailed)
    eventually(lambda: told == [(failed, TaskFailed)])
    well = hub.submit(add, x=1)
    assert well.exception() is None and well.done() and not well.running() and not well.cancelled()
    assert well.cancel() is False and well.result() == 3
    # It does not wait for itself.
    hub.submit(add, x=1).add_done_callback(lambda _: told.append(refused_here(hub)))
    [error] = eventually(lambda: told[1:])
    assert "hub's own thread" in str(error)


def test_a_callback_that_would_end_the_program_ends_nothing(hub: Hub, serve: Serve, caplog: Any) -> None:
    serve(rest, add)
    ended = threading.Event()
    first = hub.submit(rest, s=0.2)

    def leave(_: Any) -> None:
        raise SystemExit(1)

    first.add_done_callback(leave)
    first.add_done_callback(lambda _: ended.set())
    others = [hub.submit(rest, s=0.3) for _ in range(3)]
    assert first.result(PATIENCE_S) == "done" and ended.wait(PATIENCE_S)
    assert [other.result(PATIENCE_S) for other in others] == ["done"] * 3
    assert "A callback raised SystemExit" in caplog.text


def test_a_listener_that_would_end_the_program_ends_nothing(hub: Hub, serve: Serve) -> None:
    serve(add)

    def leave(_: Any) -> None:
        raise SystemExit(1)

    hub.events.on("call:settled", leave)
    assert [hub.call(add, x=x) for x in range(3)] == [2, 3, 4]


def test_what_comes_behind_one_that_raises_on_the_hubs_thread_is_done_all_the_same(caplog: Any) -> None:
    thread = LoopThread("tests")
    may_go_on, done = threading.Event(), threading.Event()
    # Both come with one wake-up.
    thread.loop.call_soon_threadsafe(may_go_on.wait)
    thread.post(lambda: 1 / 0)
    thread.post(done.set)
    may_go_on.set()
    assert done.wait(PATIENCE_S)
    thread.stop()
    assert "ZeroDivisionError" in caplog.text


def test_a_hub_is_closed_in_a_callback(server: Server, serve: Serve) -> None:
    serve(rest)
    hub = Hub(server.url)
    pending, other = hub.submit(rest, s=0.2), hub.submit(rest, s=600)
    thread = hub._thread
    pending.add_done_callback(lambda _: hub.close())
    assert pending.result(PATIENCE_S) == "done"
    assert isinstance(other.exception(PATIENCE_S), Aborted)
    eventually(lambda: not thread.is_alive)
    assert server.keys("pshub:*:reply:*") == set()


def refused_here(hub: Hub) -> BaseException:
    try:
        hub.call(add, x=1)
    except RuntimeError as error:
        return error
    raise AssertionError("it waited for itself")


def test_a_result_is_waited_for_no_longer_than_one_wants(hub: Hub, serve: Serve) -> None:
    may_end = threading.Event()

    @task("gated:1.0", timeout=120)
    def gated() -> bool:
        return may_end.wait(PATIENCE_S)

    serve(gated)
    pending = hub.submit(gated)
    for ask in (pending.result, pending.exception):
        with pytest.raises(TimeoutError) as early:
            ask(timeout=0.1)
        assert isinstance(early.value, concurrent.futures.TimeoutError) and not isinstance(early.value, Timeout)
    assert pending.running()
    # And the call goes on.
    may_end.set()
    assert pending.result() is True


def test_cancelling(hub: Hub, serve: Serve) -> None:
    worker = serve(wait)
    pending = hub.submit(wait, s=20, timeout=20)
    eventually(lambda: worker.busy == 1)
    assert pending.cancel()
    with pytest.raises(concurrent.futures.CancelledError) as given_up:
        pending.result()
    assert isinstance(given_up.value, Aborted) and pending.cancelled() and pending.done()
    eventually(lambda: worker.busy == 0)


def test_asyncio_awaits_it(hub: Hub, serve: Serve) -> None:
    worker = serve(wait, add, size, task("size:1.1")(lambda width: {"breadth": width}))

    async def run() -> None:
        assert await asyncio.wrap_future(hub.submit(add, x=1)) == 3
        assert await asyncio.wrap_future(hub.submit(size, width=1)) == Size(1)
        waiting = asyncio.wrap_future(hub.submit(wait, s=60, timeout=60))
        await aeventually(lambda: worker.busy)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await aeventually(lambda: not worker.busy)

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_a_hub_that_is_closed_does_not_cancel_who_awaits(server: Server, serve: Serve) -> None:
    worker = serve(wait)

    async def run() -> None:
        closing = Hub(server.url)
        waiting = asyncio.wrap_future(closing.submit(wait, s=20, timeout=20))
        await aeventually(lambda: worker.busy)
        await asyncio.to_thread(closing.close)
        with pytest.raises(Aborted):
            await waiting

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_a_result_that_is_not_what_was_promised_is_told_to_all_who_ask(hub: Hub, serve: Serve) -> None:
    serve(task("size:1.0")(lambda width: {"breadth": width}))
    pending = hub.submit(size, width=1)
    assert isinstance(pending.exception(PATIENCE_S), InvalidResult)
    with pytest.raises(InvalidResult):
        pending.result()

    async def wrapped() -> Any:
        return await asyncio.wait_for(asyncio.wrap_future(hub.submit(size, width=1)), PATIENCE_S)

    with pytest.raises(InvalidResult):
        asyncio.run(wrapped())


def test_a_result_is_made_into_what_it_is_to_be_once(hub: Hub, serve: Serve) -> None:
    serve(size)
    pending = hub.submit(size, width=1)
    assert pending.result() == Size(1) and pending.result() is pending.result() is pending.outcome().value


def test_the_hub_for_asyncio(server: Server, serve: Serve) -> None:
    worker = serve(wait, add)

    async def run() -> None:
        async with AsyncHub(server.url) as asking:
            calls = [asking.submit(add, x=n) for n in range(3)]
            assert await asyncio.gather(*calls) == [2, 3, 4]
            waiting = asking.submit("wait:1.0", {"s": 20}, timeout=20)
            await aeventually(lambda: worker.busy)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await aeventually(lambda: not worker.busy)
            with pytest.raises(TypeError):
                asking.submit(add, {"x": 1}, y=2)
            with pytest.raises(TimeoutError):
                await asking.call(wait, s=2, timeout=0.2)

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_a_call_that_is_late_is_a_timeout_error(hub: Hub, serve: Serve) -> None:
    serve(wait)
    with pytest.raises(TimeoutError) as late:
        hub.call(wait, s=2, timeout=0.2)
    assert isinstance(late.value, Timeout) and str(late.value) == late.value.message != ""
    with pytest.raises(TimeoutError):
        hub.submit(wait, s=2, timeout=0.2).result()
    with pytest.raises(TimeoutError):
        hub.enqueue(wait, {"s": 1}, tracked=True).result(timeout_ms=50)
    again = pickle.loads(pickle.dumps(late.value))
    assert (type(again), str(again), again.task, again.id, again.ran) == (
        Timeout, str(late.value), late.value.task, late.value.id, "maybe",
    )  # fmt: skip
    assert repr(again).startswith("Timeout('wait:1.0 did not answer within")
    assert str(Timeout()) == Timeout.meaning and Timeout().errno is None
    given_up = pickle.loads(pickle.dumps(Aborted("enough", ran="no")))
    assert (type(given_up), str(given_up), given_up.ran) == (Aborted, "enough", "no")
