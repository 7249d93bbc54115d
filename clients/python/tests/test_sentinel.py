"""A master that sentinels look after: found, lost, and found again."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import redis as redispy

from conftest import Server, eventually, stop_listening
from pshub import Hub, HubError, NotEnqueued, Worker, task
from pshub.redis.sentinels import Sentinels
from pshub.redis.target import read_target
from sentinel_group import NAME, Group
from waits import PATIENCE_S

pytestmark = pytest.mark.long

runs: list[int] = []
lock = threading.Lock()


@task("mark:1.0", idempotent=False)
def mark(n: int) -> int:
    with lock:
        runs.append(n)
    return n


@pytest.fixture
def group() -> Iterator[Group]:
    runs.clear()
    group = Group()
    yield group
    group.close()


def _signal(group: Group, number: int) -> None:
    assert group.master.process is not None
    os.kill(group.master.process.pid, number)


def _call_all_along(hub: Hub, stop: threading.Event) -> list[Any]:
    """Calls with numbers of their own; how each ended: its number, or the error."""
    ends: list[Any] = []
    n = 0
    while not stop.is_set():
        n += 1
        try:
            ends.append((n, hub.call("mark:1.0", n=n, timeout=10)))
        except HubError as error:
            ends.append((n, error))
            stop.wait(0.02)
    return ends


def _fail_over(group: Group, number: int) -> list[Any]:
    """Calls while the master is ended by this signal and the replica takes over."""
    worker = Worker(group.url, tasks=[mark], slots=2).start()
    stop, ended = threading.Event(), []
    with Hub(group.url) as hub:
        thread = threading.Thread(target=lambda: ended.extend(_call_all_along(hub, stop)))
        thread.start()
        eventually(lambda: len(runs) > 50)
        _signal(group, number)
        group.until_moved()
        count = len(runs)
        eventually(lambda: len(runs) > count + 50, "calls after the failover")
        stop.set()
        thread.join(PATIENCE_S)
        # All that the hub has to say is on the new master.
        assert hub.call("mark:1.0", n=0) == 0
        _signal(group, signal.SIGCONT) if number == signal.SIGSTOP else None
    worker.stop(grace=0)
    return ended


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_calls_go_on_when_the_replica_took_over(group: Group, number: int) -> None:
    ended = _fail_over(group, number)
    # None twice; those that certainly did not run did not.
    assert len(runs) == len(set(runs))
    unsent = [n for n, value in ended if isinstance(value, NotEnqueued)]
    assert not set(unsent) & set(runs)
    answered = [n for n, value in ended if not isinstance(value, HubError)]
    assert set(answered) <= set(runs)


def test_a_master_that_does_not_know_that_it_is_none_any_more_is_left(group: Group) -> None:
    """It is cut off from its sentinels and not from us: it would confirm all that it is sent, and lose it."""
    jobs = "pshub:{default}:jobs"
    app = {"username": "app", "password": "app"}
    for server in (group.master, group.replica):
        server.client.execute_command("ACL", "SETUSER", "app", "on", ">app", "~*", "&*", "+@all")
    old = redispy.Redis(port=group.master.port, **app)  # type: ignore[arg-type]
    url = group.url.replace("://", "://app:app@")
    with Hub(url) as hub, old:
        hub.enqueue("mark:1.0", {"n": 0}, queue="default")
        eventually(lambda: group.replica.client.llen(jobs) == 1)
        reasons: list[str] = []
        hub.events.on("redis:down", lambda event: reasons.append(event["reason"]))
        # What sentinels and replicas are there.
        old.execute_command("ACL", "SETUSER", "default", "-@all")
        eventually(lambda: len(reasons) == 2, "the news")
        assert "the sentinels report the master at" in reasons[0]
        assert old.info("replication")["role"] == "master" and old.llen(jobs) == 1
        for n in range(20):
            hub.enqueue("mark:1.0", {"n": n}, queue="default")
        assert group.replica.client.llen(jobs) == 21 and old.llen(jobs) == 1


def test_deaf_sentinels_are_passed_over(group: Group) -> None:
    for deaf in group.sentinels[:2]:
        os.kill(deaf.process.pid, signal.SIGSTOP)
    with Hub(group.url) as hub:
        up: list[str] = []
        hub.events.on("redis:up", lambda event: up.append(event["role"]))
        with suppress(HubError):
            hub.call("mark:1.0", n=1)
        eventually(lambda: len(up) == 2)


def test_another_sentinel_is_asked_first_each_time(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    ask_one = Sentinels._ask

    async def noted(self: Sentinels, sentinel: Any) -> Any:
        asked.append(sentinel)
        return await ask_one(self, sentinel)

    monkeypatch.setattr(Sentinels, "_ask", noted)

    async def ask() -> None:
        sentinels = Sentinels(read_target(group.url))
        for _ in range(3):
            assert await sentinels.master() == ("127.0.0.1", group.master.port)

    asyncio.run(ask())
    assert {port for _, port in asked} == {each.port for each in group.sentinels}


def test_what_sentinels_do_not_know_is_told(group: Group) -> None:
    with Hub(group.url.replace(NAME, "other")) as hub:
        with pytest.raises(NotEnqueued, match="no sentinel knows the address of the master 'other' .*it knows no master 'other'"):
            hub.call("mark:1.0", n=1)


class Named:
    """A sentinel that names whom it is told to."""

    def __init__(self, port: int) -> None:
        self.named = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis+sentinel://127.0.0.1:{self._listener.getsockname()[1]}/{NAME}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            while True:
                asked = client.recv(65_536)
                if not asked:
                    return
                if b"get-master-addr" in asked:
                    port = str(self.named).encode()
                    client.sendall(b"*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%b\r\n" % (len(port), port))
                else:
                    # What redis-py says of itself.
                    client.sendall(b"+OK\r\n" * asked.count(b"SETINFO"))

    def close(self) -> None:
        stop_listening(self._listener)


def test_who_is_named_and_is_no_master_is_not_served(make_server: Callable[..., Server]) -> None:
    master = make_server("--repl-diskless-sync-delay", "0")
    replica = make_server("--replicaof", "127.0.0.1", str(master.port))
    sentinel = Named(replica.port)
    try:
        with Hub(sentinel.url) as hub:
            reasons: list[str] = []
            hub.events.on("redis:down", lambda event: reasons.append(event["reason"]))
            with pytest.raises(NotEnqueued, match=f"127.0.0.1:{replica.port}, which is not a master yet"):
                hub.enqueue("mark:1.0", {"n": 1}, queue="default", timeout_ms=500)
            sentinel.named = master.port
            hub.enqueue("mark:1.0", {"n": 1}, queue="default", timeout_ms=30_000)
            assert master.client.llen("pshub:{default}:jobs") == 1
            assert len(reasons) == 2
    finally:
        sentinel.close()
