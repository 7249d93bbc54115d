"""The contract of pshub.testing: calls and jobs in memory end as they would with a real Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pshub import AsyncHub, Context, NoSuchTask, NotEnqueued, task
from pshub.testing import InMemory
from pshub.testing.plugin import in_memory  # noqa: F401

Make = Callable[..., InMemory]


@task("twice:1.0", idempotent=True)
def twice(n: int) -> int:
    return 2 * n


@task("twice:1.1", idempotent=True)
def newer(n: int) -> float:
    return 2 * n + 0.1


def test_calls_by_exact_version_newest_minor_and_newest_version_and_several_at_once(in_memory: Make) -> None:
    hub = in_memory(twice, newer).hub
    assert [hub.call("twice:1.0", n=21), hub.call("twice:1", n=1), hub.call("twice", n=2)] == [42, 2.1, 4.1]
    told = hub.gather({"a": ("twice:1.0", {"n": 1}), "b": ("twice:1.0", {"n": "x"})})
    assert (told["a"].value, told["b"].error.code) == (2, "InvalidArgs")
    pending = [hub.submit("twice:1.0", n=n) for n in range(200)]
    assert [each.result() for each in pending] == [2 * n for n in range(200)]


def test_calls_fail_while_redis_is_away_as_certainly_not_enqueued_and_go_on_when_it_is_back(in_memory: Make) -> None:
    kit = in_memory(twice)
    assert kit.hub.call("twice:1.0", n=1) == 2
    kit.redis.go_away()
    called = kit.hub.submit("twice:1.0", {"n": 2}, timeout=5)
    kit.clock.advance(1.5)
    with pytest.raises(NotEnqueued):
        called.result()
    kit.redis.come_back()
    assert kit.hub.call("twice:1.0", n=3) == 6


def test_chunks_come_once_and_in_order_and_a_loop_that_is_left_ends_the_handler(in_memory: Make) -> None:
    ended: list[bool] = []

    @task("count:1.0", timeout=60)
    def count(upto: int) -> Iterator[int]:
        try:
            yield from range(upto)
        finally:
            ended.append(True)

    kit = in_memory(count)
    assert list(kit.hub.stream("count:1.0", upto=300)) == list(range(300))
    assert kit.hub.call("count:1.0", upto=3) == [0, 1, 2]
    for chunk in kit.hub.stream("count:1.0", upto=10**9):
        if chunk == 40:
            break
    kit.clock.advance(3)
    assert ended == [True, True, True]


def test_a_hub_for_asyncio_calls_too(in_memory: Make) -> None:
    kit = in_memory(twice)

    async def run() -> int:
        async with AsyncHub(kit.redis.target) as hub:
            found: int = await hub.call("twice:1.0", n=4)
            return found

    assert asyncio.run(run()) == 8


def test_kits_beside_each_other_have_redises_of_their_own() -> None:
    with InMemory(twice) as one, InMemory() as other:
        assert one.hub.call("twice:1.0", n=1) == 2
        with pytest.raises(NoSuchTask):
            other.hub.call("twice:1.0", n=1)


def test_what_fails_is_tried_again_after_longer_and_longer_waits_and_is_dead_at_last(in_memory: Make) -> None:
    tries: list[int] = []

    @task("flaky:1.0", retries=3, backoff=[200, 600])
    def flaky(fails: int, ctx: Context) -> int:
        tries.append(ctx.attempt)
        if fails >= ctx.attempt:
            raise ValueError(f"failed {ctx.attempt}")
        return ctx.attempt

    kit = in_memory(flaky)
    job = kit.hub.enqueue("flaky:1.0", {"fails": 2}, tracked=True)
    kit.clock.advance(2.5)
    assert (job.result(), tries) == (3, [1, 2, 3])
    kit.hub.enqueue("flaky:1.0", {"fails": 9}, retries=1)
    kit.clock.advance(1.5)
    dead = kit.hub.dead(job.queue)
    [found] = dead.list()
    assert (found.task, found.errors[-1]["message"]) == ("flaky:1.0", "failed 2")
    assert dead.retry({"fails": 0}) == 1
    kit.clock.advance(0.5)
    assert (tries, dead.count()) == ([1, 2, 3, 1, 2, 1], 0)


def test_chains_and_batches(in_memory: Make) -> None:
    hub = in_memory(twice).hub
    assert hub.chain([("twice:1.0", {"n": 1}), ("twice:1.0", {}, {"pass": "n"})]).result() == 4
    batch = hub.batch([("twice:1.0", {"n": n}) for n in (1, 2, 3)], then=("twice:1.0", {"n": 5}, {"tracked": True}))
    assert batch.after is not None and batch.after.result() == 10
    status = batch.status()
    assert status is not None and (status.total, status.done, status.dead) == (3, 3, 0)


def test_the_order_of_a_key_is_kept_and_what_waits_of_one_is_merged(in_memory: Make) -> None:
    order: list[int] = []
    runs: list[Any] = []

    @task("ordered:1.0", keyed="ordered")
    def ordered(n: int) -> None:
        order.append(n)
        if len(order) == 1:
            raise ValueError("once")

    @task("merged:1.0", keyed="merged", batch=10, args={})
    def merged(by_key: dict[str, list[Any]]) -> None:
        runs.extend(by_key.items())

    kit = in_memory(ordered, merged)
    for n in (1, 2, 3):
        kit.hub.enqueue("ordered:1.0", {"n": n}, key="k", backoff=200)
    kit.clock.advance(1.5)
    assert order == [1, 1, 2, 3]
    kit.hub.pause("default")
    kit.clock.advance(1.2)
    for version in (3, 1, 2, 1):
        kit.hub.enqueue("merged:1.0", {"version": version}, key="o/17", score=version)
    kit.hub.resume("default")
    kit.clock.advance(1.5)
    assert runs == [("o/17", [{"version": 1}, {"version": 2}, {"version": 3}])]
