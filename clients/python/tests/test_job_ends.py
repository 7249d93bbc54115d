"""How jobs end: tried again, dead, once for all of their kind, cancelled."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Server, eventually
from job_tasks import PREFIX, Flaky, hub, serve  # noqa: F401
from pshub import Aborted, AsyncHub, Context, Hub, NoSuchJob, TaskError, TaskFailed, Worker, task

Serve = Callable[..., Worker]


@pytest.mark.parametrize("options, expected", [({"retryable": False}, 1), ({"retryable": True}, 3), ({}, 3)])
def test_a_handler_may_say_that_it_would_fail_again(hub: Hub, serve: Serve, options: Any, expected: int) -> None:
    count: list[int] = []

    @task("final:1.0", retries=2, backoff=1)
    def final() -> None:
        count.append(1)
        raise TaskError("no", **options)

    serve(final)
    with pytest.raises(TaskFailed):
        hub.enqueue(final, tracked=True).result()
    assert len(count) == expected


def test_a_task_may_say_how_long_its_jobs_wait_and_give_them_up(hub: Hub, serve: Serve) -> None:
    asked: list[Any] = []

    def backoff(error: Any, attempt: int) -> Any:
        asked.append((str(error), attempt))
        return 1 if attempt < 3 else None

    flaky = Flaky(backoff=backoff)
    serve(flaky.task)
    with pytest.raises(TaskFailed):
        hub.enqueue(flaky.task, {"fails": 9}, tracked=True).result()
    assert asked == [(f"try {n} {{failed}} [here]", n) for n in (1, 2, 3)]


def test_who_waits_for_one_that_failed_and_was_cancelled_meanwhile_is_told_so(server: Server, hub: Hub, serve: Serve) -> None:
    gate = threading.Event()

    @task("fails:1.0", backoff=60_000)
    def fails() -> None:
        gate.wait(20)
        raise ValueError("broken")

    worker = serve(fails)
    job = hub.enqueue(fails, tracked=True)
    eventually(lambda: worker.busy == 1)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(job.result)
        eventually(lambda: any(field.startswith("wait:") for field in server.client.hkeys(f"{PREFIX}job:{job.id}")))
        assert job.cancel() is False
        gate.set()
        with pytest.raises(Aborted):
            waiting.result()
    assert job.status().state == "cancelled"


def test_a_job_runs_for_as_long_as_its_task_lets_it(hub: Hub, serve: Serve) -> None:
    left: list[float] = []

    @task("long:1.0", timeout=0.05, job_timeout_ms=200, retries=0)
    def long(s: float, ctx: Context) -> bool:
        left.append(ctx.remaining)
        return ctx.aborted.wait(s)

    serve(long)
    assert hub.enqueue(long, {"s": 0.1}, tracked=True, expires_ms=60_000).result() is False
    assert hub.enqueue(long, {"s": 5}, tracked=True).result() is True
    assert all(0.1 < each <= 0.2 for each in left)


def test_a_unique_job_is_there_once_until_it_has_ended(hub: Hub, serve: Serve) -> None:
    first = hub.enqueue("flaky:1.0", {"a": 1, "b": [1.0, 2]}, queue="q", unique=True)
    twin = hub.enqueue("flaky:1.0", {"b": [1, 2], "a": 1}, queue="q", unique=True)
    other = hub.enqueue("flaky:1.0", {"a": 2}, queue="q", unique=True)
    assert (twin.id, twin.is_twin, other.is_twin) == (first.id, True, False)
    many = hub.enqueue_many([("flaky:1.0", {"a": 2}), ("flaky:1.0", {"a": 3})], queue="q", unique=True)
    assert (many.ids[0], many.twins) == (other.id, 1)
    flaky = Flaky()
    serve(flaky.task)
    assert twin.result() == other.result() == {"attempt": 1}
    eventually(lambda: len(flaky.tries) == 3)
    assert not hub.enqueue(flaky.task, {"a": 1, "b": [1, 2]}, unique=True).is_twin


def test_of_those_that_go_together_each_is_told_of_its_own_twin(server: Server, hub: Hub) -> None:
    first, third = (hub.enqueue("flaky:1.0", {"n": n}, queue="q", unique=True).id for n in (1, 3))

    async def together() -> Any:
        async with AsyncHub(server.url) as other:
            await other.enqueue("flaky:1.0", {}, queue="q")
            given = [other.enqueue("flaky:1.0", {"n": n}, queue="q", unique=True) for n in (1, 2, 3)]
            return [(job.id, job.is_twin) for job in await asyncio.gather(*given)]

    one, two, three = asyncio.run(together())
    assert (one, two[1], three) == ((first, True), False, (third, True))


def test_a_job_that_waits_for_its_time_or_its_next_try_is_run_at_once(server: Server, hub: Hub, serve: Serve) -> None:
    attempts: list[int] = []

    @task("again:1.0", backoff=3_600_000)
    def again(ctx: Context) -> int:
        attempts.append(ctx.attempt)
        if len(attempts) < 2:
            raise ValueError("not yet")
        return len(attempts)

    job = hub.enqueue("again:1.0", {}, queue="q", tracked=True, delay_ms=3_600_000)
    assert [job.run(), job.run()] == [True, False]
    serve(again)
    eventually(lambda: job.status().state == "retrying")
    assert job.run() is True
    assert job.result() == 2
    assert job.status().tries == 1
    assert job.run() is False
    with pytest.raises(NoSuchJob):
        hub.enqueue("again:1.0", {}, queue="q", delay_ms=3_600_000).run()
