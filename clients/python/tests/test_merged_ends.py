"""How runs of merged jobs end: tried again, given up payload by payload, put off, lost with their worker."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Server, WorkerProcess, eventually
from job_tasks import PREFIX, hub, noted, noted_from_start, serve  # noqa: F401
from merged_tasks import ByKey, Gate, Merge, Serve, due_ms, fail_first, tries, waiting
from pshub import Context, Hub, PutOff, TaskError, TaskFailed, task


def test_a_run_that_fails_comes_back_merged_with_what_came_meanwhile(server: Server, hub: Hub, serve: Serve) -> None:
    gate = Gate(ValueError("no"))
    merge = Merge(gate, backoff=200)
    worker = serve(merge.task)
    told = noted(worker, "job:retried")
    hub.enqueue("merge:1.0", "v1", key="a", score=1)
    eventually(lambda: merge.begun == 1)
    hub.enqueue("merge:1.0", "v1", key="a", score=7)
    hub.enqueue("merge:1.0", "v0", key="a", score=6, delay_ms=5_000_000)
    gate.opened.set()
    eventually(lambda: len(merge.runs) == 2)
    assert [(run.by_key, run.attempt) for run in merge.runs] == [({"a": ["v1"]}, 1), ({"a": ["v0", "v1"]}, 2)]
    [(_, event)] = told
    assert (event["id"], event["attempt"], event["delay_ms"], event["code"]) == (
        f"m-{merge.runs[0].fence}-1", 1, 200, "TaskFailed",
    )  # fmt: skip
    eventually(lambda: tries(server, "a") == 0)


@pytest.mark.parametrize("backoff", [5.0, [5.0], lambda raised, failures: 5.0])
def test_its_backoff_may_be_written_with_a_point(hub: Hub, serve: Serve, backoff: Any) -> None:
    merge = Merge(fail_first(ValueError("no")), backoff=backoff)
    serve(merge.task)
    hub.enqueue("merge:1.0", 1, key="a")
    eventually(lambda: len(merge.runs) == 2)


def test_each_key_has_its_own_tries_and_polynomial_backoff(server: Server, hub: Hub, serve: Serve) -> None:
    merge = Merge(fail_first(ValueError("no")), batch=5)
    merge.declared(serve)
    server.client.hset(f"{PREFIX}tried:merge:1.0", "b", '{"tries":2,"errors":[]}')
    for key in "ab":
        hub.enqueue("merge:1.0", 1, key=key)
    told = noted_from_start(serve(merge.task, starts=False), "job:retried")
    eventually(lambda: len(told) == 2)
    assert merge.runs[0].attempt == 3
    (_, a), (_, b) = told
    assert (a["attempt"], b["attempt"]) == (1, 3)
    assert 15_000 <= a["delay_ms"] <= 45_000 and 31_000 <= b["delay_ms"] <= 121_000
    eventually(lambda: (tries(server, "a"), tries(server, "b")) == (1, 3))


def test_what_failed_too_often_is_given_up_by_its_lowest_score_and_can_be_put_back(server: Server, hub: Hub, serve: Serve) -> None:
    def act(by_key: ByKey, ctx: Context) -> None:
        if "bad" in by_key["a"]:
            raise ValueError("bad one")

    merge = Merge(act, retries=1, backoff=5)
    merge.declared(serve)
    hub.enqueue_many([("merge:1.0", name, {"key": "a", "score": score}) for score, name in ((1, "bad"), (2, "good"))])
    worker = serve(merge.task, starts=False)
    told = noted_from_start(worker, "job:dead")
    eventually(lambda: len(merge.runs) == 3)
    assert [(run.by_key["a"], run.attempt) for run in merge.runs] == [
        (["bad", "good"], 1), (["bad", "good"], 2), (["good"], 1),
    ]  # fmt: skip
    dead = hub.dead("q")
    [one] = dead.list()
    assert (one.task, one.args, one.key, one.score, one.tries) == ("merge:1.0", "bad", "a", 1, 2)
    assert [error["message"] for error in one.errors] == ["bad one"] * 2
    assert [(event["id"], event["reason"]) for _, event in told] == [(one.id, "TaskFailed: bad one")]
    assert dead.count(key="a") == 1 and dead.count(key="b") == 0
    worker.stop()
    hub.enqueue("merge:1.0", "more", key="a", score=0, delay_ms=900_000)
    assert dead.retry(key="a") == 1
    # As if new and due now.
    assert waiting(server, "a") == {'"bad"': 1, '"more"': 0} and (tries(server, "a"), due_ms(server, "a")) == (0, None)


def test_a_dead_payload_that_is_put_back_with_others_in_its_place_merges_with_equal_ones(server: Server, hub: Hub, serve: Serve) -> None:
    merge = Merge(fail_first(TaskError("no", retryable=False)))
    merge.declared(serve)
    hub.enqueue("merge:1.0", 1, key="a", score=5)
    worker = serve(merge.task)
    eventually(lambda: hub.dead("q").count() == 1)
    worker.stop()
    hub.enqueue("merge:1.0", {"a": 1, "b": 2}, key="a", score=7)
    assert hub.dead("q").retry({"b": 2.0, "a": 1}, key="a") == 1
    assert waiting(server, "a") == {'{"a":1,"b":2}': 7}


def test_a_failure_that_is_final_gives_one_payload_of_each_key_up(hub: Hub, serve: Serve) -> None:
    merge = Merge(fail_first(TaskError("no", code="Never", retryable=False)), batch=5)
    merge.declared(serve)
    for key in "abc":
        for n in (1, 2):
            hub.enqueue("merge:1.0", n, key=key, score=n)
    told = noted_from_start(serve(merge.task, starts=False), "job:dead")
    eventually(lambda: len(merge.runs) == 2)
    assert merge.brought[1] == {key: [2] for key in "abc"}
    dead = hub.dead("q").list(code="Never")
    assert sorted((job.key, job.args) for job in dead) == [("a", 1), ("b", 1), ("c", 1)]
    eventually(lambda: len(told) == 3)
    assert sorted(job.id for job in dead) == sorted(event["id"] for _, event in told)
    assert {event["reason"] for _, event in told} == {"Never: no"}


def test_a_run_that_is_put_off_has_not_failed(server: Server, hub: Hub, serve: Serve) -> None:
    merge = Merge(fail_first(PutOff(30, "too early"), 2), batch=2)
    merge.declared(serve)
    for key in "ab":
        hub.enqueue("merge:1.0", 1, key=key)
    worker = serve(merge.task, starts=False)
    told = noted(worker, "job:putoff")
    settled = noted_from_start(worker, "task:settled")
    eventually(lambda: len(settled) == 1)
    assert [(run.by_key, run.attempt) for run in merge.runs] == [({"a": [1], "b": [1]}, 1)] * 3
    assert [(event["delay_ms"], event["reason"]) for _, event in told] == [(30, "too early")] * 4
    # Nor does it count as run.
    assert settled[0][1]["ok"] is True


def test_another_job_and_a_call_are_put_off_too(hub: Hub, serve: Serve) -> None:
    attempts: list[int] = []

    @task("later:1.0")
    def later(ctx: Context) -> int:
        attempts.append(ctx.attempt)
        if len(attempts) < 3:
            raise PutOff(20)
        return len(attempts)

    worker = serve(later)
    told = noted(worker, "job:putoff")
    with pytest.raises(TaskFailed, match="It is not the time for it") as failed:
        hub.call(later)
    assert failed.value.retryable and failed.value.data == {"retryAfterMs": 20}
    assert hub.enqueue(later, tracked=True).result() == 3
    assert attempts == [1, 1, 1] and [event["delay_ms"] for _, event in told] == [20]
    for delay_ms in (-1, float("nan"), "5", True):
        with pytest.raises(Exception, match="A request is put off for 0 to 315360000000 ms, not for"):
            PutOff(delay_ms)  # type: ignore[arg-type]


def test_what_is_no_payload_of_theirs_is_given_up_and_the_others_run(server: Server, hub: Hub, serve: Serve) -> None:
    merge = Merge(args={"type": "number"}, batch=4)
    merge.declared(serve)
    for key in "ab":
        hub.enqueue("merge:1.0", 1, key=key, score=2)
    deep = "[" * 80 + "]" * 80
    strange: Any = {'"text"': 1, '{not],["json': 0, deep: 3, b'"\xff"': 4}
    server.client.zadd(f"{PREFIX}merged:merge:1.0:a", strange)
    told = noted_from_start(serve(merge.task, starts=False), "job:dead", "job:putoff")
    eventually(lambda: sum(map(len, merge.brought)) == 2)
    assert sorted((key, payloads) for run in merge.brought for key, payloads in run.items()) == [("a", [1]), ("b", [1])]
    eventually(lambda: server.client.zcard(f"{PREFIX}dead") == 4)
    dead = {str(job.args): job.errors[-1]["code"] for job in hub.dead("q").list()}
    # One that is no UTF-8 cannot be shown.
    assert dead == {"text": "InvalidArgs", '{not],["json': "InvalidArgs", deep: "InvalidArgs"}
    assert len([name for name, _ in told if name == "job:dead"]) == 4
    hub.dead("q").delete()


def test_a_worker_that_is_killed_loses_nothing(server: Server, hub: Hub, serve: Serve, start_worker: Callable[..., WorkerProcess]) -> None:
    killed = start_worker(server, "--queue", "q")
    hub.enqueue("hang:1.0", 1, key="a")
    held = eventually(lambda: [text for key in server.held() for text in server.client.hvals(key)])
    assert '"run":[["a",0,[1,' in held[0]
    hub.enqueue("hang:1.0", 2, key="a")
    runs: list[Any] = []
    serve(task("hang:1.0", keyed="merged")(lambda by_key: runs.append(by_key)))
    killed.signal(signal.SIGKILL)
    # With what came meanwhile; the worker's end is no failure of its own.
    eventually(lambda: runs, 20)
    assert runs == [{"a": [1, 2]}]
    eventually(lambda: not server.client.exists(f"{PREFIX}tried:hang:1.0"))


def test_a_worker_that_leaves_gives_its_run_back(server: Server, hub: Hub, serve: Serve) -> None:
    merge = Merge(lambda by_key, ctx: ctx.aborted.wait(10) if merge.begun == 1 else None)
    first = serve(merge.task)
    hub.enqueue("merge:1.0", 1, key="a")
    eventually(lambda: merge.begun == 1)
    first.stop(grace=0)
    serve(merge.task)
    eventually(lambda: len(merge.runs) == 2)
    assert merge.brought == [{"a": [1]}] * 2 and [run.attempt for run in merge.runs] == [1, 1]
