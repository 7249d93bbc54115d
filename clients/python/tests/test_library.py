"""The library of functions: how it comes into Redis, and what happens when it is gone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from called_tasks import add
from conftest import Server, with_connection
from pshub import ConfigError, Hub, Worker, task
from pshub.redis import library
from pshub.redis.connection import Connection
from pshub.redis.library import LIBRARY_REVISION, Installed, install
from pshub.redis.lua_sources import lua_text

TEXT = lua_text("redis/library.lua").decode()
ran: list[int] = []


@task("note:1.0")
def note(n: int) -> int:
    ran.append(n)
    return n


@pytest.fixture(autouse=True)
def no_library(server: Server) -> None:
    server.client.function_flush()


def load(server: Server, revision: int) -> None:
    server.client.function_load(TEXT.replace(f"local revision = {LIBRARY_REVISION}", f"local revision = {revision}"))


def without_files(name: str) -> bytes:
    raise FileNotFoundError(2, "No such file", name)


def installed(server: Server) -> Installed:
    return with_connection(server.url, install)


def test_the_revision_is_that_of_the_library() -> None:
    assert re.findall(r"^local revision = (.*)$", TEXT, re.MULTILINE) == [str(LIBRARY_REVISION)]


def test_calls_go_on_when_the_library_is_gone(server: Server) -> None:
    ran.clear()
    with Worker(server.url, tasks=[note], slots=4) as worker, Hub(server.url) as hub:
        problems: list[Any] = []
        for each in (worker, hub):
            each.events.on("problem", problems.append)
        pending = []
        for n in range(300):
            pending.append(hub.submit(note, n=n, timeout=20))
            # Four times in all: a function is called five times at the most.
            if n % 75 == 0:
                server.client.function_flush()
        assert [each.result() for each in pending] == list(range(300))
        assert sorted(ran) == list(range(300)) and problems == []
    assert server.leftovers() == []


def test_a_worker_that_waited_for_work_finds_it_gone(server: Server) -> None:
    with Worker(server.url, tasks=[add]), server.client.pipeline() as together:
        together.function_flush()
        together.rpush("pshub:{default}:calls", '{"task":"add:1.0","args":{"x":1},"result_queue":"pshub:reply:{byhand}"}')
        together.rpush("pshub:{default}:bell", "1").execute()
        assert '"result":3' in server.client.blpop("pshub:reply:{byhand}", 60)[1]


def test_an_older_library_is_replaced_and_a_newer_one_is_not(server: Server) -> None:
    load(server, LIBRARY_REVISION - 1)
    assert installed(server) == (LIBRARY_REVISION, None)
    server.client.function_flush()
    load(server, LIBRARY_REVISION + 1)
    with Worker(server.url, tasks=[add]), Hub(server.url) as hub:
        assert hub.call(add, x=1) == 3
    assert installed(server) == (LIBRARY_REVISION + 1, None)


def test_two_may_load_it_at_once(server: Server) -> None:
    async def both(connection: Connection) -> Any:
        return await asyncio.gather(install(connection), install(connection))

    assert with_connection(server.url, both) == [(LIBRARY_REVISION, None)] * 2


def test_a_replica_is_called_one_and_not_a_server_without_the_library(server: Server, make_server: Callable[..., Server]) -> None:
    replica = make_server("--replicaof", "127.0.0.1", str(server.port))
    with pytest.raises(ConfigError, match="used: this server is a slave, which refuses writes; connect to its master"):
        Worker(replica.url, tasks=[add]).start()


def test_what_keeps_it_from_being_loaded_is_told(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.client.config_set("maxmemory", 1)
    try:
        with pytest.raises(ConfigError, match="library is missing, and it cannot be loaded: Redis is full .*: pshub install"):
            Worker(server.url, tasks=[add]).start()
    finally:
        server.client.config_set("maxmemory", 0)
    monkeypatch.setattr(library, "lua_text", without_files)
    with pytest.raises(ConfigError, match="library is missing, .*library.lua cannot be read: .*: pshub install"):
        Worker(server.url, tasks=[add]).start()
    load(server, LIBRARY_REVISION - 1)
    with pytest.raises(ConfigError, match=f"library has revision {LIBRARY_REVISION - 1}, .* it cannot be loaded: "):
        Worker(server.url, tasks=[add]).start()
    server.client.function_flush()
    load(server, LIBRARY_REVISION)
    with Worker(server.url, tasks=[add]), Hub(server.url) as hub:
        assert hub.call(add, x=1) == 3
