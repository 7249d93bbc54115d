"""The contract of pshub.testing, one half: what callers see, in memory and on a real Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from pshub import AsyncHub, Context, TaskError, task
from pshub.testing import InMemory
from stages import MemoryStage, RealStage, Stage, begun, failure, stage  # noqa: F401


@task("twice:1.0", idempotent=True)
def twice(n: int) -> int:
    return 2 * n


@task("twice:1.1", idempotent=True)
def newer(n: int) -> float:
    return 2 * n + 0.1


@task("echo:1.0", args={})
def echo(args: Any) -> Any:
    return args


def test_calls_by_exact_version_newest_minor_and_newest_version_and_several_at_once(stage: Stage) -> None:
    stage.worker(twice, newer)
    hub = stage.hub()
    assert [hub.call("twice:1.0", n=21), hub.call("twice:1", n=1), hub.call("twice", n=2)] == [42, 2.1, 4.1]
    told = hub.gather({"a": ("twice:1.0", {"n": 1}), "b": ("twice:1.0", {"n": "x"})})
    assert (told["a"].value, told["b"].error.code) == (2, "InvalidArgs")
    pending = [hub.submit("twice:1.0", n=n) for n in range(200)]
    assert [each.result() for each in pending] == [2 * n for n in range(200)]


def test_any_json_there_and_back(stage: Stage) -> None:
    stage.worker(echo)
    hub = stage.hub()
    given = {"text": 'Grüße, 世界 🎈 \u0000 \\ "', "empty": [[], {}, ""], "big": 2**53 - 1, "nothing": None}
    assert hub.call("echo:1.0", given) == given
    long = {"text": "ä" * 200_000}
    assert hub.call("echo:1.0", long) == long


def test_what_is_wrong_with_a_call(stage: Stage) -> None:
    @task("failing:1.0")
    def failing() -> None:
        raise TaskError("no such city", code="NoSuchCity", data={"city": "Atlantis"})

    @task("wrong:1.0", result={"type": "integer"})
    def wrong() -> Any:
        return "text"

    stage.worker(twice, failing, wrong)
    hub = stage.hub()
    assert failure(lambda: hub.call("twice:1.0", n="x")) == ("InvalidArgs", "no")
    assert failure(lambda: hub.call("twice:2.0", n=1)) == ("NoSuchTask", "no")
    assert failure(lambda: hub.call("failing:1.0")) == ("NoSuchCity", "yes")
    assert failure(lambda: hub.call("wrong:1.0")) == ("InvalidResult", "yes")


def test_calls_end_at_their_deadline_and_none_starts_behind_it(stage: Stage) -> None:
    started: list[int] = []

    @task("slow:1.0")
    def slow(at: int, ctx: Context) -> None:
        started.append(at)
        ctx.aborted.wait(10)

    stage.worker(slow, slots=1)
    hub = stage.hub()
    first = hub.submit("slow:1.0", {"at": 1}, timeout=0.7)
    second = hub.submit("slow:1.0", {"at": 2}, timeout=0.3)
    stage.pass_(1)
    assert failure(first.result) == ("Timeout", "maybe")
    assert failure(second.result)[0] in ("Timeout", "Expired", "Overloaded")
    stage.pass_(0.5)
    assert started == [1]


def test_a_handler_ends_whose_caller_gave_up(stage: Stage) -> None:
    aborted: list[int] = []

    @task("slow:1.0", timeout=60)
    async def slow(at: int, ctx: Context) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            aborted.append(at)

    stage.worker(slow)
    called = stage.hub().submit("slow:1.0", {"at": 1})
    stage.pass_(0.2)
    called.cancel()
    assert failure(called.result) == ("Aborted", "maybe")
    stage.pass_(2)
    assert aborted == [1]


def test_another_worker_runs_what_one_held_that_died_if_that_may_be_run_twice(stage: Stage) -> None:
    runs: list[str] = []

    def tasks_of(worker: str) -> Any:
        def handler(name: str) -> Any:
            def run(ctx: Context) -> str:
                runs.append(f"{worker} {name}")
                if worker == "first":
                    ctx.aborted.wait(20)
                return f"by {worker}"

            return run

        return [task(f"{name}:1.0", idempotent=name == "again")(handler(name)) for name in ("again", "once")]

    die = stage.worker(*tasks_of("first"))
    hub = stage.hub()
    again, once = (hub.submit(f"{name}:1.0", timeout=30) for name in ("again", "once"))
    stage.pass_(0.3)
    assert sorted(runs) == ["first again", "first once"]
    stage.worker(*tasks_of("second"))
    die()
    stage.pass_(6.5)
    assert failure(again.result) == {"result": "by second"}
    assert failure(once.result) == ("WorkerLost", "maybe")
    assert runs[2:] == ["second again"]


def test_calls_fail_while_redis_is_away_as_certainly_not_enqueued_and_go_on_when_it_is_back(stage: Stage) -> None:
    stage.worker(twice)
    hub = stage.hub()
    assert hub.call("twice:1.0", n=1) == 2
    stage.go_away()
    called = hub.submit("twice:1.0", {"n": 2}, timeout=5)
    stage.pass_(1.5)
    assert failure(called.result) == ("NotEnqueued", "no")
    stage.come_back()
    assert hub.call("twice:1.0", n=3) == 6


def test_chunks_come_once_and_in_order_and_a_loop_that_is_left_ends_the_handler(stage: Stage) -> None:
    ended: list[bool] = []

    @task("count:1.0", timeout=60)
    def count(upto: int) -> Iterator[int]:
        try:
            yield from range(upto)
        finally:
            ended.append(True)

    stage.worker(count)
    hub = stage.hub()
    assert list(hub.stream("count:1.0", upto=300)) == list(range(300))
    assert hub.call("count:1.0", upto=3) == [0, 1, 2]
    for chunk in hub.stream("count:1.0", upto=10**9):
        if chunk == 40:
            break
    stage.pass_(3)
    assert ended == [True, True, True]


def test_a_stream_ends_where_nothing_comes_for_too_long(stage: Stage) -> None:
    @task("halting:1.0", timeout=60)
    def halting(ctx: Context) -> Iterator[int]:
        yield 1
        ctx.aborted.wait(20)

    stage.worker(halting)
    read: list[int] = []
    ended = begun(lambda: read.extend(stage.hub().stream("halting:1.0", idle=0.8)))
    stage.pass_(2.5)
    assert ended() == ("Timeout", "maybe")
    assert read == [1]


def test_progress_comes_to_the_caller(stage: Stage) -> None:
    told: list[Any] = []

    @task("steps:1.0", timeout=20)
    def steps(ctx: Context) -> str:
        ctx.progress(1, 4, "begun")
        ctx.aborted.wait(0.4)
        return "done"

    stage.worker(steps)
    reader = stage.hub().stream("steps:1.0", on_progress=lambda progress: told.append((progress.done, progress.total, progress.message)))
    assert list(reader) == []
    assert told[0] == (1, 4, "begun")


def test_a_hub_for_asyncio_calls_too(stage: Stage) -> None:
    stage.worker(twice)
    # The real one has its own namespace.
    hub_url, options = _place_of(stage)

    async def run() -> int:
        async with AsyncHub(hub_url, **options) as hub:
            found: int = await hub.call("twice:1.0", n=4)
            return found

    assert asyncio.run(run()) == 8


def _place_of(stage: Stage) -> tuple[str, dict[str, Any]]:
    if isinstance(stage, MemoryStage):
        return stage._kit.redis.target, {}
    assert isinstance(stage, RealStage)
    return stage._shared.url, {"namespace": stage._namespace}


def test_kits_beside_each_other_have_redises_of_their_own() -> None:
    with InMemory(twice) as one, InMemory() as other:
        assert one.hub.call("twice:1.0", n=1) == 2
        assert failure(lambda: other.hub.call("twice:1.0", n=1)) == ("NoSuchTask", "no")
