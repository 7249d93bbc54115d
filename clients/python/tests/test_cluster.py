"""Queues on the nodes of a Cluster: calls, jobs and all that goes between queues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cluster_nodes import Cluster, cluster, queues, shared_cluster  # noqa: F401
from pshub import Context, Hub, Worker, task


@task("double:1.0", idempotent=True)
def double(n: int) -> int:
    return n * 2


@task("outer:1.0")
def outer(n: int, queue: str, ctx: Context) -> Any:
    return ctx.call("double:1.0", {"n": n}, queue=queue)


@pytest.fixture
def workers(cluster: Cluster, queues: list[str]) -> Iterator[list[Worker]]:
    """Each begins at a node of its own."""
    made = [Worker(node.url, tasks=[double, outer], queue=queue) for node, queue in zip(cluster.masters[::-1], queues)]
    for worker in made:
        worker.start()
    yield made
    for worker in made:
        worker.stop()
    assert cluster.held() == []


def test_calls_to_queues_of_all_nodes(cluster: Cluster, queues: list[str], workers: list[Worker]) -> None:
    with Hub(cluster.url) as hub:
        for n, queue in enumerate(queues):
            assert hub.call("double:1.0", n=n, queue=queue) == 2 * n
        pending = [hub.submit("double:1.0", n=n, queue=queues[n % 3]) for n in range(300)]
        assert [each.result() for each in pending] == [2 * n for n in range(300)]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["one", "several", "options"])
def test_every_way_to_name_it(cluster: Cluster, queues: list[str], workers: list[Worker], kind: str) -> None:
    nodes = [{"host": "127.0.0.1", "port": node.port} for node in cluster.masters]
    several = ",".join(f"127.0.0.1:{node.port}" for node in cluster.masters)
    target: Any = {"one": nodes[2], "several": f"redis+cluster://{several}", "options": {"cluster": nodes}}[kind]
    with Hub(target) as hub:
        assert [hub.call("double:1.0", n=n, queue=queue) for n, queue in enumerate(queues)] == [0, 2, 4]


@pytest.mark.long
def test_nested_calls_from_node_to_node(cluster: Cluster, queues: list[str], workers: list[Worker]) -> None:
    with Hub(cluster.url) as hub:
        for at, queue in enumerate(queues):
            assert hub.call("outer:1.0", {"n": at, "queue": queues[at - 1]}, queue=queue) == 2 * at


@pytest.mark.long
def test_a_hub_leaves_nothing(cluster: Cluster, queues: list[str], workers: list[Worker]) -> None:
    with Hub(cluster.url) as hub:
        hub.call("double:1.0", n=1, queue=queues[1])
        id = hub.id
    left = {key for node in cluster.masters for key in node.client.scan_iter(f"*{id}*")}
    assert left == set()
