"""How a Cluster is found out, and what is wrong with one."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from called_tasks import add
from cluster_nodes import Cluster, cluster, queues, shared_cluster  # noqa: F401
from conftest import Server, with_connection
from pshub import ConfigError, Hub, NotEnqueued, Worker
from pshub.redis.connection import Connection
from pshub.redis.library import install
from pshub.redis.slot_map import slot_of
from test_rights import RULES
from waits import aeventually

pytestmark = pytest.mark.long

User = Callable[..., str]


@pytest.fixture
def user(cluster: Cluster) -> Iterator[User]:
    """Makes a user at every node; returns what follows the scheme of its URL."""
    made: list[str] = []

    def make(name: str, *rules: str) -> str:
        made.append(name)
        for node in cluster.masters:
            node.do("ACL", "SETUSER", name, *rules)
        return f"{name}:secret@127.0.0.1:{cluster.masters[0].port}"

    yield make
    for node in cluster.masters:
        node.do("ACL", "DELUSER", *made)


def _install(cluster: Cluster) -> None:
    """At each node, as somebody who may."""

    async def act(connection: Connection) -> None:
        await connection.at("a").one("GET", "a")
        for _, master in connection.each_master():
            assert (await install(master)).is_fit

    with_connection(cluster.url, act)


@pytest.mark.parametrize("key", ["", "a", "pshub:{default}:calls", "{}a", "a{b}{c}", "{a", "a}b{c}", "ü {ö} x", "{{a}}"])
def test_the_slot_of_a_key(cluster: Cluster, key: str) -> None:
    assert slot_of(key) == cluster.masters[0].do("CLUSTER", "KEYSLOT", key)


def test_the_rights_of_the_protocol_are_enough(cluster: Cluster, queues: list[str], user: User) -> None:
    _install(cluster)
    hub_at, worker_at = (user(name, *RULES[name]) for name in ("pshub-hub", "pshub-worker"))
    with Worker(f"redis://{worker_at}", tasks=[add], queue=queues[1]), Hub(f"redis+cluster://{hub_at}") as hub:
        assert hub.call("add:1.0", x=1) == 3


def test_without_the_right_to_ask_for_slots_that_is_told(cluster: Cluster, user: User) -> None:
    at = user("pshub-hub", *RULES["pshub-hub"], "-cluster|slots")
    with Hub(f"redis://{at}") as hub:
        with pytest.raises(NotEnqueued, match=r"lacks a right.*cluster\|slots"):
            hub.call("add:1.0", x=1)


def test_without_the_key_of_a_move_that_is_told(cluster: Cluster, queues: list[str], user: User) -> None:
    _install(cluster)
    hub_at, worker_at = (user(name, *(rule for rule in RULES[name] if not rule.endswith("}:moving"))) for name in ("pshub-hub", "pshub-worker"))
    with pytest.raises(ConfigError, match="lacks .*FCALL on pshub:{.*}:moving"):
        Worker(f"redis://{worker_at}", tasks=[add], queue=queues[1]).start()
    with Worker(cluster.url, tasks=[add], queue=queues[1]), Hub(f"redis+cluster://{hub_at}") as hub:
        with pytest.raises(NotEnqueued, match="lacks .*FCALL on pshub:{.*}:moving"):
            hub.call("add:1.0", x=1)


def test_a_server_that_is_no_cluster_is_told(server: Server) -> None:
    with Hub(f"redis+cluster://127.0.0.1:{server.port}") as hub:
        with pytest.raises(NotEnqueued, match="cluster support disabled"):
            hub.call("add:1.0", x=1)


def test_the_first_nodes_may_be_gone(cluster: Cluster, queues: list[str]) -> None:
    # A port that nobody listens at and nobody else can take.
    with socket.socket() as gone:
        gone.bind(("127.0.0.1", 0))
        nodes = f"127.0.0.1:{gone.getsockname()[1]},127.0.0.1:{cluster.masters[1].port}"
        _call_by(nodes, queues[0])


def _call_by(nodes: str, queue: str) -> None:
    with Worker(f"redis+cluster://{nodes}", tasks=[add], queue=queue), Hub(f"redis+cluster://{nodes}") as hub:
        assert hub.call("add:1.0", x=1) == 3


def test_each_master_is_looked_at(cluster: Cluster, queues: list[str]) -> None:
    other = cluster.masters[2]
    other.client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        with pytest.raises(ConfigError, match=f"node 127.0.0.1:{other.port}: maxmemory-policy is allkeys-lru"):
            Worker(cluster.url, tasks=[add], queue=queues[0]).start()
    finally:
        other.client.config_set("maxmemory-policy", "noeviction")


def test_the_library_is_loaded_where_it_is_missing(cluster: Cluster, queues: list[str]) -> None:
    workers = [Worker(cluster.url, tasks=[add], queue=queue).start() for queue in queues]
    with Hub(cluster.url) as hub:
        for queue, node in zip(queues, cluster.masters):
            node.client.function_flush("SYNC")
            assert hub.call("add:1.0", x=1, queue=queue) == 3
            assert any("pshub" in str(each) for each in node.client.function_list())
    for worker in workers:
        worker.stop()


def test_each_command_goes_to_the_node_of_its_key(cluster: Cluster, queues: list[str]) -> None:
    keys = [f"pshub:{{{queue}}}:x" for queue in queues]

    async def act(connection: Connection) -> Any:
        answers = await connection.post(*(("SET", key, key) for key in keys), *(("GET", key) for key in keys))
        times = [await connection.at(key).now_ms() for key in keys]
        return answers, times

    before_ms = time.time() * 1000
    answers, times = with_connection(cluster.url, act)
    assert answers == [b"OK"] * 3 + [key.encode() for key in keys]
    after_ms = time.time() * 1000
    assert all(before_ms - 10 <= at <= after_ms + 10 for at in times)
    assert [node.client.exists(key) for node, key in zip(cluster.masters, keys)] == [1, 1, 1]


def test_commands_for_a_slot_that_nobody_has_wait_a_second(cluster: Cluster) -> None:
    async def act(connection: Connection) -> Any:
        waiting, at_once = connection.at("a"), connection.at("a", waits=False)
        assert await waiting.one("SET", "a", "1") == b"OK"
        for node in cluster.masters:
            node.do("CLUSTER", "DELSLOTS", slot_of("a"))
        home = cluster.masters[-1]
        try:
            # The map is read anew behind the first one.
            with pytest.raises(Exception, match="CLUSTERDOWN|no node"):
                await waiting.one("GET", "a")
            await aeventually(lambda: not waiting.is_ready)
            begun, asked = time.monotonic(), asyncio.ensure_future(waiting.one("GET", "a"))
            for asking in (at_once.one("GET", "a"), asked):
                assert not asked.done()
                with pytest.raises(Exception, match=f"no node of the Cluster serves slot {slot_of('a')}"):
                    await asking
            assert time.monotonic() - begun > 0.9
        finally:
            home.do("CLUSTER", "ADDSLOTS", slot_of("a"))
            for node in cluster.masters[:-1]:
                node.do("CLUSTER", "SETSLOT", slot_of("a"), "NODE", home.id)
        await waiting.ready_within(5)
        return waiting.is_ready

    home = cluster.owner_of("a")
    cluster.move(slot_of("a"), cluster.masters[-1])
    assert with_connection(cluster.url, act) is True
    cluster.move(slot_of("a"), home)
