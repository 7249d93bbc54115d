"""Nodes of a Cluster that let nobody in, are full of clients, or stand still, one at a time."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis as redispy

from called_tasks import add
from cluster_nodes import Cluster
from conftest import eventually
from pshub import Hub, HubError, NotEnqueued, Worker
from waits import PATIENCE_S

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def replicated() -> Iterator[Cluster]:
    cluster = Cluster(3, 3)
    yield cluster
    cluster.close()


class Two:
    """A queue at a node that comes to harm and one at a node that does not; what their hub needs is not at the first."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        registry = {cluster.owner_of(f"pshub:{name}") for name in ("tasks", "workers")}
        self.harmed = next(node for node in cluster.masters if node not in registry)
        self.well = next(iter(registry))
        self.near, self.far = cluster.queues_of(self.harmed)[0], cluster.queues_of(self.well)[0]
        self.url = self.well.url

    def hub(self) -> Hub:
        while True:
            hub = Hub(self.url)
            if self.cluster.owner_of(f"pshub:reply:{{{hub.id}}}") is self.well:
                return hub
            hub.close()

    def answers(self, hub: Hub, queue: str) -> bool:
        try:
            return bool(hub.call("add:1.0", x=1, queue=queue, timeout=2) == 3)
        except HubError:
            return False


@pytest.fixture
def two(replicated: Cluster) -> Iterator[Two]:
    replicated.until_ok()
    two = Two(replicated)
    workers = [Worker(two.url, tasks=[add], queue=queue).start() for queue in (two.near, two.far)]
    yield two
    for worker in workers:
        worker.stop(grace=0)


def test_a_replica_at_the_url(two: Two) -> None:
    replica = next(node for node in two.cluster.nodes if node not in two.cluster.masters)
    with Hub(replica.url) as hub:
        assert two.answers(hub, two.near) and two.answers(hub, two.far)


def test_one_node_that_takes_another_password(two: Two) -> None:
    node = two.harmed
    hub = two.hub()
    node.do("CONFIG", "SET", "requirepass", "other")
    try:
        with pytest.raises(NotEnqueued, match="NOAUTH|requires a password"):
            hub.call("add:1.0", x=1, queue=two.near, timeout=3)
        for _ in range(20):
            assert two.answers(hub, two.far)
        hub.close()
    finally:
        redispy.Redis(port=node.port, password="other", protocol=2).execute_command("CONFIG", "SET", "requirepass", "")
    with Hub(two.url) as again:
        eventually(lambda: two.answers(again, two.near))


def test_hubs_are_closed_in_time_while_a_node_stands_still(two: Two) -> None:
    hubs = [Hub(two.url) for _ in range(8)]
    for hub in hubs:
        assert two.answers(hub, two.near) and two.answers(hub, two.far)
    two.harmed.signal(signal.SIGSTOP)
    try:
        ended: list[Any] = []

        def close(hub: Hub, calls: bool) -> None:
            pending = hub.submit("add:1.0", x=1, queue=two.near, timeout=20) if calls else None
            hub.close()
            if pending is not None:
                ended.append(pending.outcome())

        threads = [threading.Thread(target=close, args=(hub, at % 2 == 0)) for at, hub in enumerate(hubs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        # The node stands still to this moment.
        assert not any(thread.is_alive() for thread in threads)
        assert len(ended) == 4
    finally:
        two.harmed.signal(signal.SIGCONT)
