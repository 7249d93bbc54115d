"""Nodes of a Cluster that go, come back, or join."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from cluster_nodes import Cluster, Node
from conftest import eventually
from pshub import Hub, HubError, NotEnqueued, Worker, task
from waits import PATIENCE_S, delay

pytestmark = pytest.mark.long

runs: list[int] = []
lock = threading.Lock()


@task("mark:1.0")
def mark(n: int) -> int:
    with lock:
        runs.append(n)
    return n


class Ended(NamedTuple):
    n: int
    #: None: it was answered.
    error: Any


class Caller:
    """Calls all along, with numbers of its own."""

    def __init__(self, hub: Hub, queue: str, start: int) -> None:
        self.ends: list[Ended] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(hub, queue, start))
        self._thread.start()

    def _run(self, hub: Hub, queue: str, n: int) -> None:
        while not self._stop.is_set():
            n += 1
            error = None
            try:
                hub.call("mark:1.0", n=n, queue=queue, timeout=10)
            except HubError as raised:
                error = raised
            self.ends.append(Ended(n, error))
            # So that a failure that comes at once does not fill the list.
            self._stop.wait(0.002)

    def until_more(self, count: int = 50) -> None:
        answered = len(self.answered)
        eventually(lambda: len(self.answered) > answered + count, "answered calls")

    @property
    def answered(self) -> list[Ended]:
        return [each for each in self.ends if each.error is None]

    def stop(self) -> list[Ended]:
        self._stop.set()
        self._thread.join(PATIENCE_S)
        return self.ends


@pytest.fixture
def with_replicas() -> Iterator[Cluster]:
    runs.clear()
    cluster = Cluster(3, 3)
    yield cluster
    cluster.close()


@pytest.fixture
def bare() -> Iterator[Cluster]:
    runs.clear()
    cluster = Cluster(3)
    yield cluster
    cluster.close()


def _at(cluster: Cluster, key: str) -> Node:
    return cluster.owner_of(key)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_replica_takes_over_under_calls(with_replicas: Cluster, number: int) -> None:
    cluster = with_replicas
    # The one that goes has neither the registry nor the replies.
    registry = {_at(cluster, f"pshub:{name}") for name in ("tasks", "workers")}
    gone = next(node for node in cluster.masters if node not in registry)
    near, far = cluster.queues_of(gone)[0], cluster.queues_of(next(iter(registry)))[0]
    workers = [Worker(cluster.url, tasks=[mark], queue=queue, slots=2).start() for queue in (near, far)]
    hub = _hub_hearing_elsewhere(cluster, gone)
    callers = [Caller(hub, near, 10_000), Caller(hub, far, 20_000)]
    for caller in callers:
        caller.until_more()
    cluster.kill(gone) if number == signal.SIGKILL else _stand_still(cluster, gone)
    eventually(lambda: _at(cluster, f"pshub:{{{near}}}:calls") is not gone, "the failover")
    for caller in callers:
        caller.until_more()
    near_ends, far_ends = (caller.stop() for caller in callers)
    # The other queue was not touched.
    assert [each.error for each in far_ends if each.error] == []
    assert len(runs) == len(set(runs))
    unsent = {each.n for each in near_ends if isinstance(each.error, NotEnqueued)}
    assert not unsent & {*runs}
    assert {each.n for each in near_ends if each.error is None} <= {*runs}
    hub.close()
    for worker in workers:
        worker.stop(grace=0)


def _stand_still(cluster: Cluster, node: Node) -> None:
    node.signal(signal.SIGSTOP)
    # Not asked by the test meanwhile; it is let go of at the end.
    cluster.nodes.remove(node)
    cluster.nodes.append(node)
    cluster._killed.append(node)


def _hub_hearing_elsewhere(cluster: Cluster, gone: Node) -> Hub:
    while True:
        hub = Hub(cluster.url)
        if _at(cluster, f"pshub:reply:{{{hub.id}}}") is not gone:
            return hub
        hub.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_node_that_is_down_does_not_hold_up_the_queues_of_others(bare: Cluster, number: int) -> None:
    """Not even where it has some of the registry, and the replies of other hubs."""
    cluster = bare
    gone = _at(cluster, "pshub:stats")
    lives = next(node for node in cluster.masters if node is not gone)
    queue = cluster.queues_of(lives)[0]
    worker = Worker(cluster.url, tasks=[mark], queue=queue, slots=2, lease=2).start()
    lost: list[Any] = []
    worker.events.on("lease:lost", lost.append)
    hub = _hub_hearing_elsewhere(cluster, gone)
    caller = Caller(hub, queue, 0)
    caller.until_more()
    deaf = f"pshub:reply:{{{_id_at(cluster, gone)}}}"
    cluster.kill(gone) if number == signal.SIGKILL else _stand_still(cluster, gone)
    # Calls of a hub whose replies cannot be delivered: more than a worker usually holds.
    for n in range(20):
        text = f'{{"at":{time.time_ns() // 1000},"ttl":30000,"id":"deaf{n}","task":"mark:1.0","result_queue":"{deaf}","args":{{"n":{-n - 1}}}}}'
        lives.client.rpush(f"pshub:{{{queue}}}:calls", text)
    eventually(lambda: len([n for n in runs if n < 0]) == 20, "the calls of others")
    # For longer than a lease.
    delay(6, "a lease that is not kept ends by time alone")
    caller.until_more()
    assert [each.error for each in caller.stop() if each.error] == [] and lost == []
    assert len(runs) == len(set(runs))
    hub.close()
    worker.stop(grace=0)


def _id_at(cluster: Cluster, node: Node) -> str:
    """Of a hub that hears there."""
    return next(f"hub{n}" for n in range(1000) if _at(cluster, f"pshub:reply:{{hub{n}}}") is node)


def test_a_call_to_a_queue_whose_node_is_down_says_so_in_time_and_is_served_when_that_is_back(bare: Cluster) -> None:
    cluster = bare
    gone = next(node for node in cluster.masters if node is not _at(cluster, "pshub:tasks"))
    queue = cluster.queues_of(gone)[0]
    worker = Worker(cluster.url, tasks=[mark], queue=queue).start()
    hub = _hub_hearing_elsewhere(cluster, gone)
    hub.call("mark:1.0", n=1, queue=queue)
    gone.signal(signal.SIGSTOP)
    with pytest.raises(HubError):
        hub.call("mark:1.0", n=2, queue=queue, timeout=1)

    def refusal() -> Any:
        try:
            hub.call("mark:1.0", n=3, queue=queue, timeout=20)
        except HubError as error:
            return error if isinstance(error, NotEnqueued) else None

    # Long before its own time is up.
    told = eventually(refusal, "a call that says where it cannot go")
    assert re.search(f"127.0.0.1:{gone.port}|did not answer|no answer|CLUSTERDOWN", str(told))
    gone.signal(signal.SIGCONT)
    eventually(lambda: _answers(hub, queue), "a call to the node that is back")
    hub.close()
    worker.stop()


def _answers(hub: Hub, queue: Any) -> bool:
    try:
        return bool(hub.call("mark:1.0", n=9, queue=queue, timeout=2) == 9)
    except HubError:
        return False
