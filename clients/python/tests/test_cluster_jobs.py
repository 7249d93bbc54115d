"""Jobs whose queues are at different nodes of a Cluster, and what is done of them from one queue in another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cluster_nodes import Cluster, cluster, queues, shared_cluster  # noqa: F401
from conftest import eventually, maker
from pshub import Hub, Worker, task

pytestmark = pytest.mark.long


@task("add:1.0")
def add(x: int, y: int = 1) -> int:
    return x + y


@task("fail:1.0", retries=1, backoff=10)
def fail() -> None:
    raise ValueError("wrong")


class Served:
    def __init__(self, url: str, queue: str) -> None:
        self.problems: list[Any] = []
        self.worker = Worker(url, tasks=[add, fail], queue=queue)
        self.worker.events.on("problem", self._note)
        self.worker.start()

    def _note(self, event: dict[str, Any]) -> None:
        # On a busy machine its nodes may hold each other for dead.
        if "CLUSTERDOWN" not in event["reason"]:
            self.problems.append(event)

    def close(self) -> None:
        self.worker.stop()
        assert self.problems == []


@pytest.fixture
def hub(cluster: Cluster) -> Iterator[Hub]:
    with Hub(cluster.url) as hub:
        yield hub


@pytest.fixture
def served(cluster: Cluster, queues: list[str]) -> Iterator[list[Served]]:
    made = maker(lambda queue: Served(cluster.url, queue))
    make: Callable[[str], Served] = next(made)
    yield [make(queue) for queue in queues]
    for _ in made:
        pass
    assert cluster.held() == []


def test_jobs_with_results_at_each_node(hub: Hub, queues: list[str], served: list[Served]) -> None:
    jobs = [hub.enqueue("add:1.0", {"x": n}, queue=queues[n % 3], tracked=True) for n in range(30)]
    assert [job.result() for job in jobs] == [n + 1 for n in range(30)]
    assert hub.job(jobs[1].id).status().state == "done"
    many = hub.enqueue_many([("add:1.0", {"x": n}, {"queue": queues[n % 3]}) for n in range(300)])
    assert len(set(many.ids)) == 300


def test_a_chain_from_node_to_node(cluster: Cluster, hub: Hub, queues: list[str], served: list[Served]) -> None:
    steps: list[Any] = [("add:1.0", {"x": 1}, {"queue": queues[0]})]
    steps += [("add:1.0", {}, {"queue": queues[n % 3], "pass": "x"}) for n in range(1, 7)]
    chain = hub.chain(steps)
    assert chain.result() == 8
    assert [step.state for step in chain.status()] == ["done"] * 7
    eventually(lambda: cluster.held() == [])
    eventually(lambda: not any(node.client.keys("*:came:*") for node in cluster.masters))


def test_a_batch_over_all_nodes(hub: Hub, queues: list[str], served: list[Served]) -> None:
    entries: list[Any] = [("add:1.0", {"x": n}, {"queue": queues[n % 3]}) for n in range(30)]
    after = ("add:1.0", {"x": 100}, {"tracked": True, "queue": queues[1]})
    failed = ("add:1.0", {"x": -1}, {"tracked": True, "queue": queues[1]})
    well = hub.batch(entries, then=after, failed=failed)
    assert well.after is not None and well.after.result() == 101
    badly = hub.batch([*entries, ("fail:1.0", {}, {"queue": queues[2]})], then=after, failed=failed)
    assert badly.failed is not None and badly.failed.result() == 0
    status = badly.status()
    assert status is not None and (status.total, status.done, status.dead) == (31, 30, 1)
