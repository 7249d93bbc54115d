"""Chains and batches over several queues, and jobs whose worker dies, leaves, or loses its connection."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Server, beats, eventually
from job_tasks import PREFIX, Flaky, hub, noted, serve  # noqa: F401
from pshub import AsyncHub, Hub, InvalidArgs, NoSuchJob, NotEnqueued, TaskFailed, Worker, WorkerLost, task
from waits import PATIENCE_S

Serve = Callable[..., Worker]


@task("add:1.0")
def add(x: int, y: int = 1) -> int:
    return x + y


@task("double:1.0")
def double(was: int) -> int:
    return was * 2


@task("fail:1.0", retries=0)
def fail() -> None:
    raise ValueError("wrong")


def test_a_chain_into_a_queue_that_cannot_be_written_keeps_nothing_else_from_being_served(server: Server, hub: Hub, serve: Serve) -> None:
    serve(add, slots=2)
    server.client.set("pshub:{elsewhere}:jobs", "of somebody else")
    for n in range(8):
        hub.chain([(add, {"x": n}), ("double:1.0", {}, {"queue": "elsewhere", "pass": "was"})])
    # More than three times as many as there are slots.
    eventually(lambda: server.held() and server.client.hlen(server.held()[0]) == 8)
    assert hub.call(add, x=1) == 2
    assert hub.enqueue(add, {"x": 2}, tracked=True).result() == 3
    server.client.delete("pshub:{elsewhere}:jobs")
    eventually(lambda: server.client.llen("pshub:{elsewhere}:jobs") == 8 and server.held() == [])


def test_a_chain_over_two_queues(server: Server, hub: Hub, serve: Serve) -> None:
    workers = [serve(add), serve(double, queue="other")]
    problems = [noted(worker, "problem") for worker in workers]
    chain = hub.chain([(add, {"x": 1}), (double, {}, {"pass": "was"}), (add, {"y": 5}, {"pass": "x"})])
    assert chain.result() == 9
    assert [(step.queue, step.task) for step in chain.steps] == [("q", "add:1.0"), ("other", "double:1.0"), ("q", "add:1.0")]
    assert [step.state for step in chain.status()] == ["done"] * 3
    assert [step.id for step in chain.steps] == [chain.id, f"{chain.id}-2", f"{chain.id}-3"]
    found = hub.job(chain.steps[1].id).chain()
    assert found is not None and found.result() == 9
    eventually(lambda: server.held() == [])
    # What remembers that a step came is forgotten once its sender knows.
    eventually(lambda: server.client.keys("*:came:*") == [])
    # A release that was left out would be made up for by two looks at what is held, and told of.
    for worker in workers:
        beats(server, worker)
    assert problems == [[], []]


def test_a_chain_ends_where_a_step_fails_or_is_cancelled(hub: Hub, serve: Serve) -> None:
    serve(add, fail)
    failed = hub.chain([(add, {"x": 1}), (fail,), (add, {"x": 1})])
    with pytest.raises(TaskFailed, match="wrong"):
        failed.result()
    assert [step.state for step in failed.status()] == ["done", "dead", "pending"]
    late = hub.chain([(add, {"x": 1}), (add, {"x": 2})], delay_ms=100)
    late.cancel()
    # One that is due after it has run.
    hub.enqueue(add, {"x": 1}, tracked=True, delay_ms=150).result()
    assert [step.state for step in late.status()] == ["cancelled", "cancelled"]
    for steps in ([], [(add, {"x": 1}, {"pass": "x"})], [(add, {"x": 1}), (add, [1], {"pass": "x"})], [(add,), (add, {}, {"pass": ""})]):
        with pytest.raises(InvalidArgs):
            hub.chain(steps)


def test_a_chain_is_known_by_the_steps_that_have_records_and_not_where_none_has_one(server: Server, hub: Hub, serve: Serve) -> None:
    mended = threading.Event()

    @task("mended:1.0", retries=0)
    def needs_mending() -> None:
        if not mended.is_set():
            raise ValueError("wrong")

    serve(add, needs_mending)
    chain = hub.chain([(add, {"x": 1}), (needs_mending,), (add, {"x": 2})], tracked=None)
    with pytest.raises(TaskFailed):
        chain.result()
    server.client.delete(f"{PREFIX}job:{chain.id}")
    assert [step.state for step in chain.status()] == ["done", "dead", "pending"]
    server.client.delete(f"{PREFIX}job:{chain.id}-2")
    for ask in (chain.status, chain.cancel, chain.result):
        with pytest.raises(NoSuchJob):
            ask()
    assert server.client.keys(f"{PREFIX}job:*") == []
    mended.set()
    assert hub.dead("q").retry() == 1
    assert chain.result() == 3
    assert [step.task for step in chain.status()] == ["add:1.0", "mended:1.0", "add:1.0"]


def test_a_batch_over_two_queues(hub: Hub, serve: Serve) -> None:
    serve(add, fail)
    serve(double, queue="other")
    entries: list[Any] = [(add, {"x": n}) for n in range(5)] + [(double, {"was": n}) for n in range(5)]
    after = (add, {"x": 100}, {"tracked": True})
    well = hub.batch(entries, then=after, failed=(add, {"x": -1}, {"tracked": True}))
    assert well.after is not None and well.after.result() == 101
    status = well.status()
    assert status is not None and (status.total, status.done, status.dead) == (10, 10, 0) and status.ended_ms
    badly = hub.batch([*entries, (fail,)], then=after, failed=(add, {"x": -1}, {"tracked": True}))
    assert badly.failed is not None and badly.failed.result() == 0
    status = badly.status()
    assert status is not None and (status.total, status.done, status.dead) == (11, 10, 1)
    first = hub.enqueue(double, {"was": 7}, unique=True, delay_ms=300)
    twins = hub.batch([(double, {"was": 7}, {"unique": True})] * 2, then=after)
    assert twins.after is not None and twins.after.result() == 101
    status = twins.status()
    assert status is not None and (status.total, status.done, first.status().state) == (1, 1, "done")
    with pytest.raises(InvalidArgs, match="A batch needs at least one job"):
        hub.batch([])
    with pytest.raises(InvalidArgs, match="must all be in one queue"):
        hub.batch(entries, then=after, failed=(double, {"was": 1}))


def test_who_waits_hears_that_workers_died_of_a_job(server: Server, hub: Hub, serve: Serve) -> None:
    job = hub.enqueue("never:1.0", {}, queue="q", tracked=True)
    text = server.client.lpop(f"{PREFIX}jobs")
    assert text[-1] == "}"
    server.client.hset(f"{PREFIX}held:lost", f"job:{job.id}", f'{text[:-1]},"losses":2}}')
    server.client.zadd(f"{PREFIX}leases", {"lost": 1})
    threading.Timer(0.1, lambda: serve(add)).start()
    with pytest.raises(WorkerLost, match="3 workers"):
        job.result()


def test_a_claim_whose_answer_was_lost_brings_back_a_job_that_was_tried_here_before(server: Server, hub: Hub, serve: Serve) -> None:
    flaky = Flaky(backoff=60_000)
    worker = serve(flaky.task)
    job = hub.enqueue(flaky.task, {"fails": 1}, tracked=True)
    eventually(lambda: job.status().state == "retrying")
    # As if its next try had been claimed, and the answer lost.
    [text] = server.client.zrange(f"{PREFIX}retries", 0, -1)
    server.client.zrem(f"{PREFIX}retries", text)
    server.client.hset(f"{PREFIX}held:{worker.id}", f"job:{job.id}", text)
    assert job.result() == {"attempt": 2}


_MESSAGE = '"ttl":0,"id":"{id}","job":{{"keep":60000}},"task":"double:1.0","args":{{"was":4}}}}'


@pytest.mark.strangers
@pytest.mark.parametrize("holder", ["lost", "own"])
def test_what_is_to_be_done_in_another_queue_survives(server: Server, hub: Hub, serve: Serve, holder: str) -> None:
    serve(double, queue="other")
    worker = serve(add)
    held = f"{PREFIX}held:{worker.id if holder == 'own' else 'lost'}"
    outs = {"out:other:a": _MESSAGE.format(id="a"), "out:other:b": "tally batch b done", "out:no queue:c": "anything"}
    server.client.hset("pshub:{other}:batch:batch", mapping={"then": "", "failed": "", "opened": "1"})
    server.client.hset(held, mapping=outs)
    if holder == "lost":
        server.client.zadd(f"{PREFIX}leases", {"lost": 1})
    eventually(lambda: server.client.hget("pshub:{other}:job:a", "result") == "8")
    eventually(lambda: server.client.hget("pshub:{other}:batch:batch", "done") == "1")
    eventually(lambda: server.client.hlen(held) == 0)
    # Removed only once the sender no longer has it.
    eventually(lambda: server.client.keys("*:came:*") == [])


def test_a_job_whose_task_nobody_has_waits_for_its_worker_whatever_its_retries(server: Server, hub: Hub, serve: Serve) -> None:
    told = noted(serve(add), "job:retried")
    job = hub.enqueue("others:1.0", {}, queue="q", tracked=True, retries=0)
    # It is told of before it is written.
    [text] = eventually(lambda: server.client.zrange(f"{PREFIX}retries", 0, -1))
    assert json.loads(text)["job"]["errors"][0]["code"] == "NoSuchTask"
    assert [event["id"] for _, event in told] == [job.id]
    server.client.delete(f"{PREFIX}retries", f"{PREFIX}job:{job.id}")


def test_without_redis_nothing_is_enqueued_and_that_is_said_in_time(own_server: Server) -> None:
    with Hub(own_server.url) as hub:
        hub.enqueue("never:1.0", {}, queue="q")
        away = threading.Event()
        hub.events.on("redis:down", lambda event: away.set() if event["role"] == "hub commands" else None)
        own_server.kill()
        # What is written before the cut is seen is in doubt.
        assert away.wait(PATIENCE_S)
        with pytest.raises(NotEnqueued, match="Redis did not accept the job in time"):
            hub.enqueue("never:1.0", {}, queue="q", timeout_ms=300)


def test_all_of_it_for_asyncio(server: Server, serve: Serve) -> None:
    serve(add, double)

    async def use() -> dict[str, Any]:
        async with AsyncHub(server.url) as hub:
            job = await hub.enqueue(add, {"x": 1}, tracked=True)
            chain = await hub.chain([(add, {"x": 1}), (double, {}, {"pass": "was"})])
            batch = await hub.batch([(add, {"x": 1})], then=(add, {"x": 2}, {"tracked": True}))
            assert batch.after is not None
            late = await hub.enqueue(add, {"x": 1}, tracked=True, delay_ms=60_000)
            return {
                "job": await job.result(),
                "state": (await (await hub.job(job.id)).status()).state,
                "chain": (await chain.result(), [step.state for step in await chain.status()]),
                "batch": await batch.after.result(),
                "many": (await hub.enqueue_many([(add, {"x": 1})] * 3)).twins,
                "cancelled": await late.cancel(),
                "of": await job.chain(),
            }

    assert asyncio.run(use()) == {
        "job": 2, "state": "done", "chain": (4, ["done", "done"]), "batch": 3, "many": 0, "cancelled": True, "of": None,
    }  # fmt: skip
