"""A queue with a shard on each master of a Cluster, and its workers."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cluster_nodes import Cluster, Node, cluster, shared_cluster  # noqa: F401
from conftest import eventually
from pshub import Hub, Task, Worker
from resharding import spread
from shard_workers import Staying, stay  # noqa: F401

pytestmark = pytest.mark.long

Begin = Callable[..., Worker]


@pytest.fixture
def names(cluster: Cluster) -> list[str]:
    """The queue itself, and a shard on each other master. Names of their own, because nodes are shared by tests."""
    queue = f"spread{random.randrange(10**6)}"
    place = lambda name: cluster.owner_of(f"pshub:{{{name}}}:calls")  # noqa: E731
    others = [node for node in cluster.masters if node is not place(queue)]
    shards = (f"shard.{n}.{queue}" for n in itertools.count(2))
    found: list[str] = [queue]
    for node in others:
        found.append(next(name for name in shards if place(name) is node))
    return found


@pytest.fixture
def begin(cluster: Cluster, names: list[str]) -> Iterator[Begin]:
    started: list[Worker] = []

    def start(*tasks: Task[..., Any], **options: Any) -> Worker:
        started.append(Worker(cluster.url, tasks=tasks, queue=names[0], **options))
        return started[-1].start()

    yield start
    for worker in started:
        worker.stop(grace=0)


def at(cluster: Cluster) -> Callable[[str], Any]:
    return lambda key: cluster.owner_of(key).client


def places(cluster: Cluster, names: list[str]) -> list[str]:
    cards = at(cluster)("pshub:workers").hvals("pshub:workers")
    return sorted(queue for queue in (json.loads(card)["queue"] for card in cards) if queue in names)


def held_count(cluster: Cluster, names: list[str]) -> int:
    keys = {(name, key) for name in names for key in at(cluster)(f"pshub:{{{name}}}:").scan_iter(f"pshub:{{{name}}}:held:*")}
    return sum(at(cluster)(f"pshub:{{{name}}}:").hlen(key) for name, key in keys)


def links(cluster: Cluster, name: str) -> int:
    return sum(client["name"] == name for node in cluster.live for client in node.client.client_list())


def test_one_worker_runs_what_is_at_each_node_with_its_slots(cluster: Cluster, names: list[str], begin: Begin, stay: Staying) -> None:
    serving = begin(stay.task, slots=3, job_slots=3)
    spread(at(cluster), 1, names)
    eventually(lambda: places(cluster, names) == sorted(names))
    settled: list[str] = []
    serving.events.on("task:settled", lambda event: settled.append(event["queue"]))
    with Hub(cluster.url) as hub:
        jobs = [hub.enqueue("stay:1.0", {"n": n}, queue=names[0], tracked=True) for n in range(12)]
        calls = [hub.submit("stay:1.0", {"n": n}, queue=names[0], timeout=30) for n in range(12)]
        eventually(lambda: stay.running == 3)
        assert held_count(cluster, names) == 3
        stay.going_on.set()
        assert [job.result(timeout_ms=30_000) for job in jobs] == list(range(12))
        assert [call.result() for call in calls] == list(range(12))
        assert stay.most == 3 and sorted(set(settled)) == sorted(names)
        # For commands one to each node, and one for each place that waits for its bells.
        eventually(lambda: links(cluster, "pshub-worker-blocking") == 3)
        assert links(cluster, "pshub-worker-commands") == 3
        # Each of them is heard, too, and told when there is room.
        for n in range(60):
            assert hub.call("stay:1.0", {"n": n}, queue=names[n % 3], timeout=30) == n
    serving.stop()
    assert places(cluster, names) == [] and links(cluster, "pshub-worker-blocking") == 0
