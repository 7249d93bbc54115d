"""A Cluster of one's own: its nodes, whose signals and slots a test may set about."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis as redispy

from conftest import ROOT, eventually
from pshub.redis.slot_map import slot_of


class Node:
    def __init__(self, told: dict[str, Any]) -> None:
        self.id: str = told["id"]
        self.port: int = told["port"]
        self.pid: int = told["pid"]
        self.client = redispy.Redis(port=self.port, decode_responses=True, socket_timeout=5)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def do(self, *words: Any) -> Any:
        return self.client.execute_command(*words)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)


class Cluster:
    def __init__(self, masters: int = 3, replicas: int = 0) -> None:
        command = ["node", str(ROOT / "tools/redis-cluster.mjs"), str(masters), str(replicas)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the Cluster did not start"
        self.nodes = [Node(told) for told in json.loads(line)["nodes"]]
        self.masters = self.nodes[:masters]
        self.url = self.nodes[0].url
        self._killed: list[Node] = []
        self.until_ok()

    def until_ok(self) -> None:
        """Each node finds that the Cluster works; a busy machine may have had them doubt that."""
        eventually(lambda: all("cluster_state:ok" in _info(node) for node in self.live), "an agreement")

    def kill(self, node: Node) -> None:
        self._killed.append(node)
        node.signal(signal.SIGKILL)

    @property
    def live(self) -> list[Node]:
        return [node for node in self.nodes if node not in self._killed]

    def owner_of_slot(self, slot: int) -> Node:
        ranges = self.live[0].do("CLUSTER", "SLOTS")
        for first, last, master, *_ in _ranges(ranges):
            if first <= slot <= last:
                return next(node for node in self.nodes if node.port == master)
        raise AssertionError(f"nobody serves slot {slot}")

    def owner_of(self, key: str) -> Node:
        return self.owner_of_slot(slot_of(key))

    def queues_of(self, node: Node, count: int = 1, start: str = "q") -> list[str]:
        """Names of queues that live there."""
        found: list[str] = []
        n = 0
        while len(found) < count:
            n += 1
            if self.owner_of(f"pshub:{{{start}{n}}}:calls") is node:
                found.append(f"{start}{n}")
        return found

    def migrate(self, slot: int, to: Node, on_key: Callable[[str], None] = lambda key: None) -> Node | None:
        """Moves what is in a slot, key by key; ``settle`` ends it."""
        owner = self.owner_of_slot(slot)
        to.do("CLUSTER", "SETSLOT", slot, "IMPORTING", owner.id)
        owner.do("CLUSTER", "SETSLOT", slot, "MIGRATING", to.id)
        while True:
            keys = owner.do("CLUSTER", "GETKEYSINSLOT", slot, 100)
            if not keys:
                return owner
            for key in keys:
                owner.do("MIGRATE", "127.0.0.1", to.port, key, 0, 5000)
                on_key(key)

    def settle(self, slot: int, to: Node, *told: Node) -> None:
        """The new owner first: else a moment without any."""
        for node in told or [to, *(node for node in self.live if node is not to)]:
            try:
                node.do("CLUSTER", "SETSLOT", slot, "NODE", to.id)
            except redispy.ResponseError:
                # Replicas hear of it from their masters.
                pass

    def move(self, slot: int, to: Node) -> None:
        if self.owner_of_slot(slot) is not to:
            self.migrate(slot, to)
            self.settle(slot, to)

    def flush(self) -> None:
        for node in self.live:
            if node.client.info("replication")["role"] == "master":
                node.client.flushall()

    def held(self) -> list[str]:
        return sorted({key for node in self.live for key in node.client.scan_iter("pshub:*:held:*")})

    def close(self) -> None:
        for node in self.live:
            node.signal(signal.SIGCONT)
            node.client.close()
        self._process.communicate(timeout=20)


def _info(node: Node) -> str:
    info = node.do("CLUSTER", "INFO")
    return "\n".join(f"{key}:{value}" for key, value in info.items()) if isinstance(info, dict) else str(info)


def _ranges(answer: Any) -> list[Any]:
    """redis-py may have read it already."""
    if isinstance(answer, dict):
        return [(first, last, told["primary"][1]) for (first, last), told in answer.items()]
    return [(first, last, nodes[0][1]) for first, last, *nodes in answer]


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[Cluster]:
    cluster = Cluster(3)
    yield cluster
    cluster.close()


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Iterator[Cluster]:
    shared_cluster.until_ok()
    shared_cluster.flush()
    yield shared_cluster


@pytest.fixture
def queues(cluster: Cluster) -> list[str]:
    """One at each node."""
    return [cluster.queues_of(node)[0] for node in cluster.masters]
