"""How runs of merged jobs end: tried again, given up payload by payload, put off, lost with their worker."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import Server, eventually
from job_tasks import PREFIX, hub, noted, noted_from_start, serve  # noqa: F401
from merged_tasks import Merge, Serve, fail_first
from pshub import Context, Hub, PutOff, TaskFailed, task


@pytest.mark.parametrize("backoff", [5.0, [5.0], lambda raised, failures: 5.0])
def test_its_backoff_may_be_written_with_a_point(hub: Hub, serve: Serve, backoff: Any) -> None:
    merge = Merge(fail_first(ValueError("no")), backoff=backoff)
    serve(merge.task)
    hub.enqueue("merge:1.0", 1, key="a")
    eventually(lambda: len(merge.runs) == 2)


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
