"""A worker and a caller among thousands of workers: they look at a part of them, and tell less often."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Server, with_connection
from pshub.catalogue.catalogue import Catalogue
from pshub.catalogue.registrar import Measured, Registrar
from pshub.figures.events import Events
from pshub.queue.queue import Queue
from pshub.redis.connection import Connection
from pshub.settings.read import read_settings
from pshub.wire.keys import Keys
from registered import STATS, WORKERS

_KEYS = Keys("pshub")
_LEASES = _KEYS.queue("q").leases


def _put_workers(server: Server, count: int, tasks_of: Callable[[int], list[str]]) -> None:
    """So many live workers of two slots; the lease of the first one ends first."""
    cards: dict[str, str] = {}
    leases: dict[str, float] = {}
    for n in range(count):
        tasks = dict.fromkeys(tasks_of(n), "d")
        cards[f"w{n}"] = json.dumps({"id": f"w{n}", "queue": "q", "host": "h", "pid": n, "slots": 2, "tasks": tasks})
        leases[f"w{n}"] = time.time() * 1000 + 600_000 + n
    server.client.hset(WORKERS, mapping=cards)
    server.client.zadd(_LEASES, leases)


def _slots(server: Server, task: str) -> int:
    return int(with_connection(server.url, lambda link: Catalogue(_KEYS, lambda _: None).slots(link, "q", task)))


def _lengths_asked(server: Server) -> int:
    return int(server.client.info("commandstats").get("cmdstat_hstrlen", {}).get("calls", 0))


def test_of_a_large_queue_some_are_looked_at_and_the_others_are_counted(server: Server) -> None:
    _put_workers(server, 1000, lambda n: ["all:1.0", "half:1.0"] if n % 2 == 0 else ["all:1.0"])
    before = _lengths_asked(server)
    assert (_slots(server, "all:1.0"), _slots(server, "half:1.0")) == (2000, 1000)
    assert _lengths_asked(server) - before < 200


def test_the_one_worker_of_a_task_is_found_wherever_it_is(server: Server) -> None:
    _put_workers(server, 200, lambda n: ["all:1.0", "own:1.0"] if n == 150 else ["all:1.0"])
    drains = json.dumps({"seen": 1, "draining": True})
    server.client.hset(STATS, mapping={f"w{n}": drains for n in range(200) if n != 150})
    assert [_slots(server, task) for task in ("own:1.0", "all:1.0", "none:1.0")] == [2, 400, 0]
    server.client.hset(STATS, "w150", drains)
    assert _slots(server, "all:1.0") == 0


def _registrar() -> Registrar:
    return Registrar(_KEYS, Queue("q", _KEYS), {}, read_settings("worker", {}), Events())


async def _publish(registrar: Registrar, link: Connection, id: str, now_ms: int, draining: bool = False) -> None:
    stats: dict[str, Any] = {"seen": now_ms, "draining": draining}
    await registrar.publish(link, id, now_ms, stats, lambda _: Measured(None, None))


@pytest.mark.parametrize(("count", "times"), [(1000, [12]), (5000, [4]), (50_000, [1, 2])])
def test_the_more_there_are_the_less_often_each_tells(server: Server, count: int, times: list[int]) -> None:
    now_ms = int(time.time() * 1000)
    server.client.hset(STATS, mapping={f"w{n}": json.dumps({"seen": now_ms}) for n in range(count)})

    async def act(link: Connection) -> None:
        registrar = _registrar()
        await _publish(registrar, link, "a", now_ms)
        told = 0
        for beat in range(1, 13):
            await _publish(registrar, link, "a", now_ms + beat)
            told += json.loads(server.client.hget(STATS, "a"))["seen"] == now_ms + beat
        assert told in times
        for beat in (20, 21):
            await _publish(registrar, link, "a", now_ms + beat, draining=True)
        assert json.loads(server.client.hget(STATS, "a")) == {"seen": now_ms + 21, "draining": True}

    with_connection(server.url, act)
