"""A slot of which some keys are at its new node already: no function runs with half of a queue's keys."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cluster_nodes import Cluster, Node, cluster, queues, shared_cluster  # noqa: F401
from conftest import eventually, with_connection
from pshub import Hub, NotEnqueued, OutcomeUnknown, Worker, task
from pshub.redis.connection import Connection
from pshub.redis.library import run
from pshub.redis.redirect import with_absent
from pshub.redis.refusals import ReplyError
from pshub.redis.slot_map import slot_of

pytestmark = pytest.mark.long

ran: list[int] = []
lined: list[tuple[str, int]] = []
merged: list[int] = []
lock = threading.Lock()


@task("plain:1.0")
def plain(n: int) -> int:
    with lock:
        ran.append(n)
    return n


class Moving:
    """A queue whose slot is on its way from one node to another."""

    def __init__(self, cluster: Cluster, queue: str) -> None:
        self.cluster = cluster
        self.queue = queue
        self.slot = slot_of(f"pshub:{{{queue}}}:calls")
        self.home = cluster.owner_of_slot(self.slot)
        self.away = next(node for node in cluster.masters if node is not self.home)
        self.hub = Hub(cluster.url)

    def key(self, name: str) -> str:
        return f"pshub:{{{self.queue}}}:{name}"

    def begin(self) -> None:
        self.away.do("CLUSTER", "SETSLOT", self.slot, "IMPORTING", self.home.id)
        self.home.do("CLUSTER", "SETSLOT", self.slot, "MIGRATING", self.away.id)

    def send(self, name: str) -> None:
        self.home.do("MIGRATE", "127.0.0.1", self.away.port, self.key(name), 0, 5000)

    def keys_at(self, node: Node) -> list[str]:
        return sorted(node.do("CLUSTER", "GETKEYSINSLOT", self.slot, 100))

    def close(self) -> None:
        self.hub.close()
        self.cluster.move(self.slot, self.away)
        self.cluster.move(self.slot, self.home)


@pytest.fixture
def moving(cluster: Cluster, queues: list[str]) -> Iterator[Moving]:
    for noted in (ran, lined, merged):
        noted.clear()
    moving = Moving(cluster, queues[0])
    yield moving
    moving.close()


def test_a_function_rests_from_the_first_moment_of_a_move_to_its_end(moving: Moving) -> None:
    """It has all keys that it names where it is sent; those that it does not name may be there or not."""

    def rests() -> bool:
        try:
            moving.hub.enqueue("plain:1.0", {"n": 2}, queue=moving.queue, unique="one", timeout_ms=600)
        except OutcomeUnknown:
            # It was not answered in time, on a busy machine.
            return False
        except NotEnqueued as error:
            return "on its way" in str(error)
        raise AssertionError("it did not rest")

    moving.hub.enqueue("plain:1.0", {"n": 1}, queue=moving.queue, unique="one")
    moving.begin()
    before = moving.keys_at(moving.home)
    for each in before:
        eventually(rests)
        moving.send(each.split("}:")[1])
    assert moving.keys_at(moving.home) == [] and moving.keys_at(moving.away) == before
    eventually(rests)
    ended: list[Any] = []
    waiting = threading.Thread(target=lambda: ended.append(moving.hub.enqueue("plain:1.0", {"n": 3}, queue=moving.queue, unique="one")))
    waiting.start()
    moving.cluster.settle(moving.slot, moving.away)
    waiting.join(60)
    assert [job.is_twin for job in ended] == [True]
    with Worker(moving.cluster.url, tasks=[plain], queue=moving.queue):
        eventually(lambda: ran == [1])


def test_a_function_of_one_key_is_not_sent_after_it(moving: Moving) -> None:
    job = moving.hub.enqueue("plain:1.0", {"n": 1}, queue=moving.queue, tracked=True)
    moving.begin()
    record = f"job:{job.id}"
    moving.send(record)

    async def act(connection: Connection) -> Any:
        with pytest.raises(ReplyError, match="^TRYAGAIN "):
            await run(connection, "await", [moving.key(record)], ["ticket", "hub", 100, 0])
        # What is no function is.
        return await connection.one("HGET", moving.key(record), "state")

    assert with_connection(moving.cluster.url, act) == b"waiting"


def test_the_key_that_nobody_makes_is_the_last_one_of_those_of_a_queue() -> None:
    given: list[Any] = ["FCALL", "f", 2, "a:{q}:x", "a:{q}:y", "argument"]
    assert with_absent(given) == ["FCALL", "f", 3, "a:{q}:x", "a:{q}:y", "a:{q}:moving", "argument"]
    for untouched in (["FCALL", "f", 0, "a:{q}:x"], ["FCALL", "f", 1, "pshub:tasks", "a:{q}:x"], ["GET", "a:{q}:x"]):
        assert with_absent(untouched) == untouched
