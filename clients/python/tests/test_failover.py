"""A replica that did not hear of everything is promoted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from conftest import Proxy, Server, eventually
from pshub import Hub, Worker, task

CALLS = "pshub:{default}:calls"
runs: list[int] = []
may_end = threading.Event()


@task("note:1.0")
def note(n: int) -> int:
    runs.append(n)
    may_end.wait(20)
    return n


class Pair(NamedTuple):
    """A master and its replica, and a hub and a worker that reach the master through a proxy."""

    master: Server
    replica: Server
    proxy: Proxy
    worker: Worker
    hub: Hub
    problems: list[dict[str, Any]]

    def promote(self) -> None:
        """The replica takes over as it is, and hears of nothing that the master is still told."""
        self.replica.client.replicaof("NO", "ONE")

    def switch_over(self) -> None:
        """Returns when the worker is there."""
        up: list[str] = []
        self.worker.events.on("redis:up", lambda event: up.append(event["role"]))
        self.proxy.target = self.replica.port
        self.proxy.cut()
        eventually(lambda: "worker commands" in up)


@pytest.fixture
def pair(make_server: Callable[..., Server], make_proxy: Callable[[Server], Proxy]) -> Iterator[Pair]:
    runs.clear()
    may_end.clear()
    master = make_server("--repl-diskless-sync-delay", "0")
    replica = make_server("--replicaof", "127.0.0.1", str(master.port))
    eventually(lambda: replica.client.info("replication")["master_link_status"] == "up")
    proxy = make_proxy(master)
    worker = Worker(proxy.url, tasks=[note])
    problems: list[dict[str, Any]] = []
    worker.events.on("problem", problems.append)
    worker.start()
    with Hub(proxy.url) as hub:
        yield Pair(master, replica, proxy, worker, hub, problems)
        may_end.set()
        worker.stop(grace=0)


def _settle_unheard(pair: Pair) -> None:
    """Four calls whose claims the replica knows, and neither their replies nor their releases."""
    pending = [pair.hub.submit("note:1.0", n=n, timeout=15) for n in range(4)]
    held = f"pshub:{{default}}:held:{pair.worker.id}"
    eventually(lambda: pair.replica.client.hlen(held) == 4)
    pair.promote()
    may_end.set()
    assert [each.result() for each in pending] == [0, 1, 2, 3]
    eventually(lambda: pair.master.held() == [])
    assert pair.replica.client.hlen(held) == 4


def test_what_ended_before_is_not_run_again(pair: Pair) -> None:
    _settle_unheard(pair)
    pair.switch_over()
    eventually(lambda: pair.replica.held() == [] and pair.replica.client.llen(CALLS) == 0)
    assert sorted(runs) == [0, 1, 2, 3]
    eventually(lambda: [event["where"] for event in pair.problems] == ["failover"])


def test_nor_when_the_worker_leaves(pair: Pair) -> None:
    _settle_unheard(pair)
    pair.switch_over()
    # Before two looks of its own found them.
    pair.worker.stop()
    assert pair.replica.held() == [] and pair.replica.client.llen(CALLS) == 0
