"""Slots that move from node to node, with calls and jobs in them."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cluster_nodes import Cluster, Node, cluster, queues, shared_cluster  # noqa: F401
from conftest import eventually, with_connection
from pshub import Hub, HubError, Worker, task
from pshub.redis.connection import Connection
from pshub.redis.refusals import ReplyError, is_passing
from pshub.redis.slot_map import slot_of

pytestmark = pytest.mark.long

runs: list[int] = []
lock = threading.Lock()


@task("mark:1.0")
def mark(n: int) -> int:
    with lock:
        runs.append(n)
    return n


class Place:
    """A queue with a worker and a hub, and where its slot is and may go."""

    def __init__(self, cluster: Cluster, queue: str) -> None:
        self.cluster = cluster
        self.queue = queue
        self.slot = slot_of(f"pshub:{{{queue}}}:calls")
        self.home = cluster.owner_of_slot(self.slot)
        self.away = next(node for node in cluster.masters if node is not self.home)
        self.worker = Worker(cluster.url, tasks=[mark], queue=queue, slots=2).start()
        self.hub = Hub(cluster.url)

    def call(self, n: int, timeout: float = 5) -> Any:
        return self.hub.call("mark:1.0", n=n, timeout=timeout, queue=self.queue)

    def errors(self, node: Node, code: str) -> int:
        return int((node.client.info("errorstats").get(f"errorstat_{code}") or {"count": 0})["count"])

    def close(self) -> None:
        self.hub.close()
        self.worker.stop()
        self.cluster.move(self.slot, self.home)


@pytest.fixture
def place(cluster: Cluster, queues: list[str]) -> Iterator[Place]:
    runs.clear()
    place = Place(cluster, queues[0])
    assert place.call(0) == 0
    yield place
    place.close()
    assert cluster.held() == []


def test_moved(place: Place) -> None:
    before = place.errors(place.home, "MOVED")
    place.cluster.move(place.slot, place.away)
    assert place.call(1) == 1
    assert place.errors(place.home, "MOVED") > before
    # Nobody goes on asking the wrong one.
    numbers = itertools.count(2)

    def more_told() -> int:
        told = place.errors(place.home, "MOVED")
        for _ in range(20):
            place.call(next(numbers))
        return place.errors(place.home, "MOVED") - told

    eventually(lambda: more_told() == 0, "the end of questions at the old node")
    assert sorted(runs) == list(range(next(numbers)))


def test_the_hub_hears_its_replies_where_their_slot_went(place: Place) -> None:
    slot = slot_of(f"pshub:reply:{{{place.hub.id}}}")
    home = place.cluster.owner_of_slot(slot)
    away = next(node for node in place.cluster.masters if node is not home)
    try:
        place.cluster.move(slot, away)
        assert place.call(1) == 1
    finally:
        place.cluster.move(slot, home)
    assert place.call(2) == 2


def test_ask_is_followed_and_changes_nothing(place: Place) -> None:
    cluster, key = place.cluster, f"pshub:{{{place.queue}}}:one"
    place.home.client.set(key, "here")

    async def act(connection: Connection) -> Any:
        assert await connection.one("GET", key) == b"here"
        cluster.migrate(place.slot, place.away)
        before = place.errors(place.home, "ASK")
        answers = [await connection.one("GET", key) for _ in range(3)]
        counted = place.errors(place.home, "ASK") - before
        # Several in one write stay in their order.
        many = await connection.post(("SET", key, "1"), ("APPEND", key, "2"), ("GET", key))
        cluster.settle(place.slot, place.away)
        return answers, counted, many

    answers, counted, many = with_connection(cluster.url, act)
    assert answers == [b"here"] * 3 and counted >= 3
    assert many == [b"OK", 2, b"12"]


def test_tryagain_is_told_as_what_passes(place: Place) -> None:
    cluster, keys = place.cluster, [f"pshub:{{{place.queue}}}:{name}" for name in ("a", "b")]
    told: list[ReplyError] = []

    async def act(connection: Connection) -> Any:
        await connection.one("MSET", keys[0], "1", keys[1], "2")
        cluster.migrate(place.slot, place.away)
        # One of them is where the slot goes, as the client is told, and the other one is not any more.
        await connection.one("DEL", keys[1])
        try:
            await connection.one("MGET", *keys)
        except ReplyError as error:
            told.append(error)
        cluster.settle(place.slot, place.away)
        return await connection.one("MGET", *keys)

    assert with_connection(cluster.url, act) == [b"1", None]
    assert str(told[0]).startswith("TRYAGAIN") and is_passing(told[0])


def _call_all_along(place: Place, stop: threading.Event, ended: list[Any], start: int) -> None:
    n = start
    while not stop.is_set():
        n += 1
        try:
            ended.append((n, place.call(n)))
        except HubError as error:
            ended.append((n, error))


def test_no_call_is_lost_and_none_comes_twice_while_a_slot_moves_under_load(place: Place) -> None:
    stop = threading.Event()
    ended: list[Any] = []
    threads = [threading.Thread(target=_call_all_along, args=(place, stop, ended, 1000 * at)) for at in range(1, 5)]
    for thread in threads:
        thread.start()
    for to in (place.away, place.home, place.away):
        count = len(ended)
        eventually(lambda: len(ended) > count + 50, "calls before it moves")
        place.cluster.move(place.slot, to)
    count = len(ended)
    eventually(lambda: len(ended) > count + 50, "calls behind the last move")
    stop.set()
    for thread in threads:
        thread.join(60)
    assert [error for _, error in ended if isinstance(error, HubError)] == []
    assert all(n == value for n, value in ended)
    assert sorted(runs) == sorted([0, *(n for n, _ in ended)])
