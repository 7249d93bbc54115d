"""hub.enqueue(), what workers do with jobs, and what a job tells of itself."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

from conftest import Server, eventually
from job_tasks import PREFIX, Flaky, hub, serve, strict  # noqa: F401
from pshub import (
    AsyncHub,
    Hub,
    HubClosed,
    HubError,
    InvalidArgs,
    NoSuchJob,
    NoSuchTask,
    Timeout,
    Worker,
    task,
)

Serve = Callable[..., Worker]


def test_a_job_is_run_once_and_leaves_nothing_behind(server: Server, hub: Hub, serve: Serve) -> None:
    flaky = Flaky()
    worker = serve(flaky.task)
    job = hub.enqueue(flaky.task, {"n": 1})
    assert (job.queue, job.task, job.is_twin) == ("q", "flaky:1.0", False)
    eventually(lambda: flaky.tries)
    assert (flaky.tries[0].args, flaky.tries[0].attempt) == ({"n": 1}, 1)
    with pytest.raises(NoSuchJob) as error:
        job.status()
    assert error.value.id == job.id
    eventually(lambda: server.held() == [])
    hub.close()
    worker.stop()
    assert server.leftovers() == [] and len(flaky.tries) == 1


def test_a_job_leaves_the_hub_where_a_forwarder_is_named(server: Server, hub: Hub) -> None:
    job = hub.enqueue("order.paid", {"n": 1}, forward="billing", key="order-17", keep_result_ms=60_000)
    assert (job.queue, job.task, job.status().state) == ("forward.billing", "order.paid", "waiting")
    told = json.loads(server.client.lindex("pshub:{forward.billing}:line:order.paid:order-17", 0) or "")
    assert (told["id"], told["task"], told["args"], told["job"]["key"]) == (job.id, "order.paid", {"n": 1}, "order-17")
    assert hub.key("order.paid", "order-17", queue="forward.billing").status().waiting == 1
    entries: list[Any] = [("a",), ("b", {}, {"forward": "other"}), ("c:1.0", {}, {"queue": "elsewhere"})]
    assert len(hub.enqueue_many(entries, forward="billing").ids) == 3
    queues = ("forward.billing", "forward.other", "elsewhere")
    assert [server.client.llen(f"pshub:{{{queue}}}:jobs") for queue in queues] == [1, 1, 1]
    with pytest.raises(InvalidArgs, match="give queue or forward, not both"):
        hub.enqueue("a", {}, forward="billing", queue="q")
    with pytest.raises(InvalidArgs, match="belongs to a forwarder: use forward instead, 'billing'"):
        hub.enqueue("a:1.0", {}, queue="forward.billing")
    with pytest.raises(InvalidArgs, match="forward must be the name of a forwarder"):
        hub.enqueue("a", {}, forward="a b")
    with pytest.raises(InvalidArgs, match="score is for merged jobs"):
        hub.enqueue("a", {}, forward="billing", score=1)


def test_a_job_waits_for_a_worker_that_comes_later(server: Server, hub: Hub, serve: Serve) -> None:
    with pytest.raises(NoSuchTask, match="pass the queue"):
        hub.enqueue("flaky:1.0")
    with pytest.raises(NoSuchTask, match="flaky:1.0"):
        hub.enqueue("flaky", {}, queue="q")
    job = hub.enqueue("flaky:1.0", {}, queue="q", keep_result_ms=60_000)
    assert (job.status().state, job.status().task, job.status().tries) == ("waiting", "flaky:1.0", 0)
    # No card tells of its queue: workers of all queues, and who looks for a job, find it there.
    assert server.client.zrange("pshub:queues", 0, -1) == ["q"]
    assert hub.job(job.id).queue == "q"
    flaky = Flaky()
    worker = serve(flaky.task)
    id = worker.id
    assert job.result() == {"attempt": 1}
    assert (job.status().state, job.status().worker) == ("done", id)
    worker.stop()
    # And when its workers have left, its card says where it goes.
    with Hub(server.url) as another:
        assert another.enqueue("flaky:1", {"n": 2}).queue == "q"
    assert server.client.llen(f"{PREFIX}jobs") == 1


class NoTime(datetime):
    """As NaT of pandas is one."""

    def utcoffset(self) -> Any:
        raise ValueError("NaTType does not support utcoffset")


def test_wrong_options_are_refused_before_anything_is_sent(server: Server, hub: Hub, serve: Serve) -> None:
    serve(strict(), job_slots=0)
    with pytest.raises(InvalidArgs):
        hub.enqueue("strict:1.0", {})
    wrong: list[Any] = [
        ({"delay": 5}, r"there is no option 'delay'\. Known: queue, forward"),
        ({"delay_ms": -1}, "delay_ms must be milliseconds"),
        ({"expires_ms": "soon"}, "expires_ms must be milliseconds"),
        ({"delay_ms": 1, "at": 5}, "not both"),
        ({"at": "tomorrow"}, "at must be a datetime"),
        ({"at": float("nan")}, "at must be a datetime"),
        ({"at": datetime.now()}, "has no time zone; add one"),
        ({"at": datetime.min}, "has no time zone"),
        ({"at": datetime.min.replace(tzinfo=timezone.utc)}, "at must be a datetime"),
        ({"at": NoTime(2026, 1, 1)}, "has no time zone"),
        ({"at": 1_764_280_000}, "at must be milliseconds since 1970; 1764280000 is in 1970: multiply seconds by 1000"),
        ({"retries": 1.5}, "retries must be a whole number"),
        ({"retries": True}, "retries must be a whole number"),
        ({"backoff": "never"}, "backoff must be 'exponential'"),
        ({"backoff": []}, "backoff must be"),
        ({"priority": 9}, "priority must be 'high'"),
        ({"unique": 7}, "unique id must be a string"),
        ({"unique": {"until": "noon"}}, r"unique\.until must be"),
        ({"unique": {"forMs": 1}}, "unique has no option 'forMs'"),
        ({"queue": "no queue"}, "queue must be the name of a queue"),
        ({"timeout_ms": 0}, "timeout_ms must be"),
    ]
    for options, message in wrong:
        with pytest.raises(InvalidArgs, match=message):
            hub.enqueue("strict:1.0", {"n": 1}, **options)
    assert server.client.llen(f"{PREFIX}jobs") == 0
    with pytest.raises(Exception, match="job_slots is 5, but this worker has 4 slots"):
        Worker(server.url, tasks=[strict()], job_slots=5)
    with pytest.raises(Exception, match="Queue forward.billing belongs to a forwarder: pshub forward billing"):
        Worker(server.url, tasks=[strict()], queue="forward.billing")
    for option, value in (("retries", -1), ("backoff", "never"), ("job_timeout_ms", 0)):
        with pytest.raises(Exception, match=f"strict:1.0: '{option}' must be"):
            task("strict:1.0", **{option: value})  # type: ignore[arg-type]


def test_jobs_come_in_the_order_of_priorities_and_leave_slots_to_calls(hub: Hub, serve: Serve) -> None:
    for n, priority in enumerate(["low", "normal", "high", "low", "high", "normal"]):
        hub.enqueue("flaky:1.0", {"n": n}, queue="q", priority=priority)
    flaky = Flaky()
    serve(flaky.task, slots=1, job_slots=1)
    eventually(lambda: len(flaky.tries) == 6)
    assert [each.args["n"] for each in flaky.tries] == [2, 4, 1, 5, 0, 3]


def test_a_job_that_nobody_knows_of(server: Server, hub: Hub) -> None:
    for id, options in (("nobody", {}), ("no id!", {}), ("nobody", {"queue": "q"})):
        with pytest.raises(NoSuchJob, match="queue q" if options else "There is no record"):
            hub.job(id, **options)


def test_who_waits_hears_of_the_end_in_another_process_too(server: Server, hub: Hub, serve: Serve) -> None:
    flaky = Flaky()
    serve(flaky.task)
    job = hub.enqueue(flaky.task, {}, keep_result_ms=60_000, delay_ms=150)

    async def others() -> list[Any]:
        async with AsyncHub(server.url) as one, AsyncHub(server.url) as two:
            found = [await each.job(job.id) for each in (one, two)]
            return await asyncio.gather(*(each.result() for each in [*found, *found]))

    assert asyncio.run(others()) == [{"attempt": 1}] * 4


def test_who_waits_gives_up_in_time_and_when_the_hub_is_closed(server: Server, hub: Hub) -> None:
    job = hub.enqueue("never:1.0", {}, queue="q", tracked=True)
    with pytest.raises(Timeout, match="The job continues"):
        job.result(timeout_ms=30)
    threading.Timer(0.2, hub.close).start()
    with pytest.raises(HubClosed):
        job.result()
    with pytest.raises(HubClosed):
        hub.enqueue("never:1.0", {}, queue="q")


def test_who_waits_finds_it_by_looking_again_where_nobody_told(server: Server, hub: Hub) -> None:
    job = hub.enqueue("never:1.0", {}, queue="q", keep_result_ms=60_000)
    record = f"{PREFIX}job:{job.id}"

    def end() -> None:
        eventually(lambda: any(field.startswith("wait:") for field in server.client.hkeys(record)))
        server.client.hset(record, mapping={"state": "done", "ended": "1", "result": '"late"'})

    ending = threading.Thread(target=end)
    ending.start()
    assert job.result() == "late"
    ending.join()


def test_many_jobs_are_all_refused_where_one_is_wrong_and_it_is_named(server: Server, hub: Hub, serve: Serve) -> None:
    serve(strict())
    right = ("strict:1.0", {"n": 1})
    for wrong in [("strict:1.0", {}), "strict:1.0", ("strict:1.0", {"n": 1}, {"delay": 1}), ()]:
        with pytest.raises(InvalidArgs, match=r"^Nothing was enqueued\. Entry 1:") as error:
            hub.enqueue_many([right, wrong])
        assert error.value.data["index"] == 1
    with pytest.raises(HubError, match="at most 100000"):
        hub.enqueue_many([right] * 100_001)
    assert [key for key in server.client.keys("*") if "jobs" in key] == []
