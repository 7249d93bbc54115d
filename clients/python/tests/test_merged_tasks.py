"""What may be said of a task that merges its jobs, and of these jobs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from conftest import Server, eventually
from job_tasks import PREFIX, hub, noted, serve  # noqa: F401
from merged_tasks import Merge, Serve, fail_first, waiting
from pshub import Context, Hub, InvalidArgs, PutOff, TaskFailed, task


def test_they_are_serialized_for_their_way_and_made_again_for_the_handler(hub: Hub, serve: Serve) -> None:
    seen: list[Any] = []

    @task("dates:1.0", keyed="merged", args={"type": "array"}, serialize=sorted, deserialize=set)
    def dates(days: dict[str, set[int]]) -> None:
        seen.append(days)

    serve(dates)
    hub.enqueue(dates, {3, 1}, key="a", score=1)
    hub.enqueue_many([(dates, {2}, {"key": "a", "score": 0})])
    with pytest.raises(InvalidArgs, match="dates:1.0: its serialize raised: "):
        hub.enqueue(dates, 7, key="a")
    eventually(lambda: [each for run in seen for each in run["a"]] in ([{1, 3}, {2}], [{2}, {1, 3}]))


@dataclass
class Order:
    number: int


def test_hints_say_what_one_payload_is(server: Server, hub: Hub, serve: Serve) -> None:
    seen: list[Any] = []

    @task("orders:1.0", keyed="merged")
    def orders(by_key: dict[str, list[Order]]) -> object:
        """Of a day."""
        seen.append(by_key)
        # Whatever that returns.
        return object()

    settled = noted(serve(orders), "task:settled")
    card = json.loads(server.client.hget("pshub:tasks", "orders:1.0"))
    assert card["args"]["properties"] == {"number": {"type": "integer"}} and card["description"] == "Of a day."
    assert card["keyed"] == "merged" and "scores" not in card and "result" not in card
    with pytest.raises(InvalidArgs):
        hub.enqueue("orders:1.0", {"number": "x"}, key="a")
    hub.enqueue(orders, Order(7), key="a")
    eventually(lambda: settled)
    assert seen == [{"a": [Order(7)]}] and settled[0][1]["ok"] is True


def test_what_has_no_meaning_for_them_is_refused(server: Server, hub: Hub, serve: Serve) -> None:
    merge = Merge()
    serve(merge.task, task("plain:1.0")(lambda: None), job_slots=0)
    wrong: list[Any] = [
        ({}, "enqueue merge:1.0: its jobs are merged: give a key"),
        ({"key": "a", "tracked": True}, "tracked is not allowed for a merged job, which runs together with others. Leave it out; a merged job also"),
        ({"key": "a", "retries": 0}, "retries is not allowed for a merged job, which runs together with others. Set it on the task."),
        ({"key": "a", "unique": "x"}, "unique is not allowed for a merged job, which runs together with others. Leave it out."),
        ({"key": "a", "priority": "low"}, "jobs with a key have no priority"),
        *(({"key": "a", "score": each}, "score must be a number of at most 2^53, not") for each in ("1", True, float("nan"), 2**53 + 1)),
    ]  # fmt: skip
    for options, message in wrong:
        with pytest.raises(InvalidArgs) as error:
            hub.enqueue("merge:1.0", 1, **options)
        assert message in error.value.message, error.value.message
    with pytest.raises(InvalidArgs, match="score is for merged jobs, and no worker declared the task as keyed='merged'"):
        hub.enqueue("plain:1.0", {}, score=1)
    entry: Any = ("merge:1.0", 1, {"key": "a"})
    for act, message in (
        (lambda: hub.batch([entry]), "A merged job cannot be one of a batch"),
        (lambda: hub.batch([], then=entry), "a merged job also cannot be a step of a chain or follow a batch"),
        (lambda: hub.chain([entry]), "a merged job also cannot be a step of a chain"),
        (lambda: hub.chain([(*entry[:2], {"key": "a", "tracked": False})]), "A merged job cannot be a step of a chain"),
    ):
        with pytest.raises(InvalidArgs, match=message):
            act()
    assert server.client.keys(f"{PREFIX}merged:*") == []
    hub.enqueue("merge:1.0", [2**53 + 1, 2**60, 1e300, -0.0], key="a", tracked=False, priority="normal", score=-(2**53))
    assert waiting(server, "a") == {"[9007199254740993,1152921504606846976,1e+300,0]": -(2**53)}


def test_a_task_that_cannot_be_so_is_not_declared() -> None:
    merged = {"keyed": "merged"}
    wrong: list[Any] = [
        *(({name: 1}, f"'{name}' is for tasks that merge their jobs; give keyed='merged' too.") for name in
          ("batch", "max_payloads", "scores", "serialize", "deserialize")),
        *(({**merged, "batch": each}, "'batch' must be a whole number from 1 to 100.") for each in (0, 101, 1.5, True, "2")),
        *(({**merged, "max_payloads": each}, "'max_payloads' must be a whole number from 1 to 10000.") for each in (0, 10_001)),
        ({**merged, "scores": "best"}, "'scores' must be 'first' or 'last'."),
        ({**merged, "serialize": "json"}, "'serialize' must be a function."),
        ({**merged, "result": {}}, "'result' has no effect: nobody receives what a run of merged jobs returns."),
        ({**merged, "on_failure": "hold"}, "'on_failure' is for keyed='ordered': a key that failed keeps its payloads together."),
        ({"keyed": "often"}, "'keyed' must be 'ordered' or 'merged', or be left out."),
    ]  # fmt: skip
    for options, message in wrong:
        with pytest.raises(Exception) as error:
            task("merge:1.0", **options)
        assert (type(error.value).__name__, str(error.value)) == ("ConfigError", f"merge:1.0: {message}")
    for function in (lambda: None, lambda a, b: None, lambda *keys: None, lambda ctx: None):
        with pytest.raises(Exception, match="its function needs one parameter that has a name, for a dict of keys"):
            task("merge:1.0", keyed="merged")(function)


@pytest.mark.parametrize("backoff", [5.0, [5.0], lambda raised, failures: 5.0])
def test_its_backoff_may_be_written_with_a_point(hub: Hub, serve: Serve, backoff: Any) -> None:
    merge = Merge(fail_first(ValueError("no")), backoff=backoff)
    serve(merge.task)
    hub.enqueue("merge:1.0", 1, key="a")
    eventually(lambda: len(merge.runs) == 2)


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
    with pytest.raises(TaskFailed, match="The task cannot run now") as failed:
        hub.call(later)
    assert failed.value.retryable and failed.value.data == {"retryAfterMs": 20}
    assert hub.enqueue(later, tracked=True).result() == 3
    assert attempts == [1, 1, 1] and [event["delay_ms"] for _, event in told] == [20]
    for delay_ms in (-1, float("nan"), "5", True):
        with pytest.raises(Exception, match="The delay of a PutOff must be 0 to 315360000000 ms, not"):
            PutOff(delay_ms)  # type: ignore[arg-type]
