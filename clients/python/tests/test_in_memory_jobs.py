"""The contract of pshub.testing, the other half: what becomes of jobs, in memory and on a real Redis."""

from __future__ import annotations

from typing import Any

from pshub import Context, task
from stages import Stage, begun, stage  # noqa: F401


class Noting:
    """A task that notes what it is given."""

    def __init__(self, name: str = "note:1.0", **options: Any) -> None:
        self.seen: list[Any] = []

        @task(name, args={}, **options)
        def note(args: Any, ctx: Context) -> dict[str, int]:
            self.seen.append(args)
            return {"attempt": ctx.attempt}

        self.task = note


def test_jobs_run_and_tell_how_they_fare(stage: Stage) -> None:
    noting = Noting()
    stage.worker(noting.task)
    hub = stage.hub()
    job = hub.enqueue("note:1.0", {"month": 11}, tracked=True)
    assert job.result() == {"attempt": 1}
    assert noting.seen == [{"month": 11}]
    assert (job.status().state, job.status().tries) == ("done", 0)
    many = hub.enqueue_many([("note:1.0", {"n": n}) for n in range(300)])
    stage.pass_(1)
    assert (len(many.ids), len(noting.seen)) == (300, 301)


def test_none_runs_before_its_time_and_none_that_has_expired(stage: Stage) -> None:
    noting = Noting()
    stage.worker(noting.task)
    hub = stage.hub()
    hub.enqueue("note:1.0", {"at": "later"}, delay_ms=1200)
    stage.pass_(0.7)
    assert noting.seen == []
    stage.pass_(1)
    assert noting.seen == [{"at": "later"}]
    hub.pause("q")
    stage.pass_(1.2)
    late = hub.enqueue("note:1.0", {"at": "too late"}, expires_ms=300, tracked=True)
    stage.pass_(0.6)
    hub.resume("q")
    stage.pass_(1.5)
    assert late.status().state == "expired"
    assert len(noting.seen) == 1


def test_what_fails_is_tried_again_after_longer_and_longer_waits_and_is_dead_at_last(stage: Stage) -> None:
    tries: list[int] = []

    @task("flaky:1.0", retries=3, backoff=[200, 600])
    def flaky(fails: int, ctx: Context) -> int:
        tries.append(ctx.attempt)
        if fails >= ctx.attempt:
            raise ValueError(f"failed {ctx.attempt}")
        return ctx.attempt

    stage.worker(flaky)
    hub = stage.hub()
    job = hub.enqueue("flaky:1.0", {"fails": 2}, tracked=True)
    stage.pass_(2.5)
    assert job.result() == 3
    assert tries == [1, 2, 3]
    hub.enqueue("flaky:1.0", {"fails": 9}, retries=1)
    stage.pass_(1.5)
    dead = hub.dead("q")
    [found] = dead.list()
    assert (found.task, found.errors[-1]["message"]) == ("flaky:1.0", "failed 2")
    assert dead.retry({"fails": 0}) == 1
    stage.pass_(0.5)
    assert (tries, dead.count()) == ([1, 2, 3, 1, 2, 1], 0)


def test_what_is_unique_is_enqueued_once_until_it_has_ended(stage: Stage) -> None:
    noting = Noting()
    stage.worker(noting.task)
    hub = stage.hub()
    first = hub.enqueue("note:1.0", {"a": 1}, unique=True, delay_ms=400, tracked=True)
    twin = hub.enqueue("note:1.0", {"a": 1}, unique=True)
    assert (twin.is_twin, twin.id) == (True, first.id)
    stage.pass_(1)
    assert len(noting.seen) == 1
    assert hub.enqueue("note:1.0", {"a": 1}, unique=True).is_twin is False


def test_chains_and_batches(stage: Stage) -> None:
    noting = Noting("after:1.0")

    @task("add:1.0")
    def add(n: int) -> int:
        return n + 1

    stage.worker(noting.task, add)
    hub = stage.hub()
    chain = hub.chain([
        ("add:1.0", {"n": 1}),
        ("add:1.0", {}, {"pass": "n"}),
        ("after:1.0", {"slash": "a/b"}, {"pass": "sum"}),
    ])  # fmt: skip
    assert chain.result() == {"attempt": 1}
    assert noting.seen == [{"slash": "a/b", "sum": 3}]
    batch = hub.batch([("add:1.0", {"n": n}) for n in (1, 2, 3)], then=("after:1.0", {"all": True}, {"tracked": True}))
    assert batch.after is not None
    batch.after.result()
    assert noting.seen[1] == {"all": True}
    status = batch.status()
    assert status is not None and (status.total, status.done, status.dead) == (3, 3, 0)


def test_the_order_of_a_key_is_kept_and_what_waits_of_one_is_merged(stage: Stage) -> None:
    order: list[int] = []
    runs: list[Any] = []

    @task("ordered:1.0", keyed="ordered")
    def ordered(n: int, ctx: Context) -> None:
        order.append(n)
        if len(order) == 1:
            raise ValueError("once")

    @task("merged:1.0", keyed="merged", batch=10, args={})
    def merged(by_key: dict[str, list[Any]]) -> None:
        runs.extend(by_key.items())

    stage.worker(ordered, merged)
    hub = stage.hub()
    for n in (1, 2, 3):
        hub.enqueue("ordered:1.0", {"n": n}, key="k", backoff=200)
    stage.pass_(1.5)
    assert order == [1, 1, 2, 3]
    hub.pause("q")
    stage.pass_(1.2)
    for version in (3, 1, 2, 1):
        hub.enqueue("merged:1.0", {"version": version}, key="o/17", score=version)
    hub.resume("q")
    stage.pass_(1.5)
    assert runs == [("o/17", [{"version": 1}, {"version": 2}, {"version": 3}])]


def test_a_schedule_enqueues_at_its_times(stage: Stage) -> None:
    noting = Noting()
    stage.worker(noting.task)
    hub = stage.hub()
    schedule = hub.schedule("each-second", {"cron": "* * * * * *"}, "note:1.0", {"by": "cron"})
    assert schedule.queue == "q" and schedule.next_ms is not None and schedule.next_ms % 1000 == 0
    stage.pass_(3.6)
    assert len(noting.seen) >= 3
    assert hub.schedules("q").remove("each-second") is True
    before = len(noting.seen)
    stage.pass_(1.6)
    assert len(noting.seen) == before


def test_a_job_runs_again_whose_worker_died_and_none_that_was_cancelled(stage: Stage) -> None:
    noting = Noting()

    @task("note:1.0", args={})
    def stuck(args: Any, ctx: Context) -> None:
        ctx.aborted.wait(20)

    die = stage.worker(stuck)
    hub = stage.hub()
    job = hub.enqueue("note:1.0", {"a": 1}, tracked=True)
    cancelled = hub.enqueue("note:1.0", {"a": 2}, tracked=True, delay_ms=2000)
    stage.pass_(0.3)
    assert cancelled.cancel() is True
    stage.worker(noting.task)
    die()
    stage.pass_(6.5)
    assert job.result() == {"attempt": 1}
    assert noting.seen == [{"a": 1}]
    assert cancelled.status().state == "cancelled"


def test_jobs_stay_while_redis_is_away(stage: Stage) -> None:
    noting = Noting()
    stage.worker(noting.task)
    hub = stage.hub()
    hub.enqueue("note:1.0", {"a": 1}, delay_ms=1000)
    stage.go_away()
    refused = begun(lambda: hub.enqueue("note:1.0", {"a": 2}, timeout_ms=300))
    stage.pass_(0.6)
    assert refused() == ("NotEnqueued", "no")
    stage.come_back()
    stage.pass_(2.5)
    assert noting.seen == [{"a": 1}]


def test_a_job_that_runs_tells_how_far_it_is(stage: Stage) -> None:
    @task("steps:1.0")
    def steps(ctx: Context) -> str:
        ctx.progress(3, 4)
        ctx.aborted.wait(20)
        return "done"

    stage.worker(steps)
    job = stage.hub().enqueue("steps:1.0", tracked=True)
    stage.pass_(1)
    status = job.status()
    assert status.state == "running" and status.progress is not None and (status.progress.done, status.progress.total) == (3, 4)
