"""Merged jobs: what waits of a key is a set of payloads, and one run takes those of several keys."""

from __future__ import annotations

import time

from conftest import Server, eventually
from job_tasks import PREFIX, hub, serve  # noqa: F401
from merged_tasks import ByKey, Gate, Merge, Serve, due_ms, tries, waiting
from pshub import Context, Hub


def test_they_are_handed_over_together_each_payload_once_the_lowest_score_first(server: Server, hub: Hub, serve: Serve) -> None:
    merge = Merge(batch=10)
    merge.declared(serve)
    hub.enqueue("merge:1.0", {"v": 3}, key="a", score=3)
    hub.enqueue(merge.task, {"v": 1}, key="a", score=1.0)
    hub.enqueue_many([
        ("merge:1.0", {"v": 2, "w": 0}, {"key": "a", "score": 2}),
        ("merge:1.0", {"w": 0.0, "v": 2}, {"key": "a", "score": 2}),
        (merge.task, "x", {"key": "ü {b}"}),
    ])  # fmt: skip
    worker = serve(merge.task)
    eventually(lambda: merge.runs)
    assert merge.brought == [{"a": [{"v": 1}, {"v": 2, "w": 0}, {"v": 3}], "ü {b}": ["x"]}]
    assert list(merge.brought[0]) == ["a", "ü {b}"] and merge.runs[0].attempt == 1
    hub.close()
    worker.stop()
    assert server.leftovers() == []


def test_runs_have_so_many_keys_and_payloads_as_the_task_says_in_the_order_of_the_enqueuing(server: Server, hub: Hub, serve: Serve) -> None:
    merge = Merge(batch=3, max_payloads=4)
    merge.declared(serve)
    hub.enqueue_many([(merge.task, n, {"key": "abcd"[n % 4]}) for n in range(40)])
    serve(merge.task)
    eventually(lambda: sum(len(payloads) for run in merge.brought for payloads in run.values()) == 40)
    assert max(map(len, merge.brought)) == 3
    for at, key in enumerate("abcd"):
        assert [n for run in merge.brought for n in run.get(key, [])] == list(range(at, 40, 4))
        assert max(len(run.get(key, [])) for run in merge.brought) == 4
    eventually(lambda: not server.client.exists(f"{PREFIX}lined"))


def test_what_waits_keeps_its_time_and_its_tries_and_the_later_score_counts(server: Server, hub: Hub, serve: Serve) -> None:
    def fail(by_key: ByKey, ctx: Context) -> None:
        raise ValueError("not yet")

    merge = Merge(fail, backoff=100_000)
    merge.declared(serve)
    hub.enqueue("merge:1.0", "v1", key="1", score=1)
    hub.enqueue("merge:1.0", "v2", key="1", score=2)
    serve(merge.task)
    eventually(lambda: tries(server, "1") == 1)
    before = due_ms(server, "1")
    assert before is not None and before > time.time() * 1000 + 90_000
    hub.enqueue("merge:1.0", "v2", key="1", score=3, delay_ms=900_000)
    hub.enqueue("merge:1.0", "v3", key="1", score=4)
    assert waiting(server, "1") == {'"v1"': 1, '"v2"': 3, '"v3"': 4}
    assert (tries(server, "1"), due_ms(server, "1")) == (1, before)


def test_what_comes_while_its_key_runs_waits_and_no_two_runs_have_a_key(server: Server, hub: Hub, serve: Serve) -> None:
    gate = Gate()
    merge = Merge(gate)
    for _ in range(2):
        serve(merge.task, slots=4, job_slots=4)
    hub.enqueue("merge:1.0", 1, key="a", score=1)
    eventually(lambda: merge.begun == 1)
    hub.enqueue("merge:1.0", 1, key="a", score=2)
    hub.enqueue("merge:1.0", 2, key="a", score=1)
    hub.enqueue("merge:1.0", 1, key="b")
    eventually(lambda: {"b": [1]} in merge.brought)
    assert waiting(server, "a") == {"1": 2, "2": 1} and merge.begun == 2
    gate.opened.set()
    eventually(lambda: len(merge.runs) == 3)
    first, then = [run for run in merge.runs if "a" in run.by_key]
    assert (first.by_key, then.by_key) == ({"a": [1]}, {"a": [2, 1]})
    assert first.ended <= then.begun and first.fence < then.fence
