"""Anything at all, at every key of the registry that is read."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis as redispy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import Server
from pshub import ConfigError, Hub, HubError, Worker, task
from pshub.catalogue.cards import TaskCard, WorkerCard, read_stats, read_task_card, read_worker_card
from pshub.wire.foreign import Unreadable, object_of
from registered import STATS, TASKS, WORKERS, Started


def test_a_declaration_that_nobody_would_read_is_refused() -> None:
    with pytest.raises(ConfigError, match="at most 250000 fit on a card"):
        task("long:1.0", description="x" * 260_000)(lambda: None)


@pytest.mark.parametrize(
    "text, reason",
    [
        (b"[1]", "it is not a JSON object"),
        (b"null", "it is not a JSON object"),
        (b"{", "it is not JSON"),
        (b'{"a":NaN}', "it is not JSON"),
        (b'{"a":' + b"[" * 20_000 + b"]" * 20_000 + b"}", "it is nested deeper than 1024 levels"),
        (b'{"a":"' + b"x" * 1000 + b'"}', "it is longer than 1000 characters"),
        (b'{"a":"' + b"x" * 5000 + b'"}', "it is longer than 1000 characters"),
    ],
)
def test_a_record_that_cannot_be_read(text: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        object_of(text, 1_000_000 if b"[[" in text else 1000)


def test_a_number_of_many_digits_costs_nothing() -> None:
    # An integer would have to be computed, which takes the longer the more digits there are.
    assert object_of(b'{"a":' + b"9" * 260_000 + b"}", 262_144) == {"a": float("inf")}


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
_ANY_JSON = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=12)
_NASTY = st.sampled_from([{"toString": 1}, {"length": 5}, [[]], -1, 0.5, 1e308, 10**400, "x" * 1000, "\ud800"])
_CARD = {"task": "junk:1.0", "queue": "zz", "description": "x", "timeoutMs": 1, "idempotent": True, "digest": "d", "at": 1}
_WORKER = {"id": "junk", "queue": "q", "host": "h", "pid": 1, "slots": 1, "tasks": {"where:1.0": "d"}, "client": "a", "started": 1}
_STATS = {"seen": 1, "busy": 1, "draining": False, "counters": {"ok": 1}}


def _mutated(record: dict[str, Any]) -> st.SearchStrategy[bytes]:
    members = st.sampled_from([*record, "args", "result", "__proto__", "x"])
    changed = st.builds(lambda name, value: {**record, name: value}, members, _ANY_JSON | _NASTY)
    # Most often one that is almost right.
    texts = st.builds(lambda value: json.dumps(value).encode(), changed | changed | changed | _ANY_JSON)
    deep = b'{"a":' + b"[" * 3000 + b"]" * 3000 + b"}"
    return texts | st.binary(max_size=40) | st.sampled_from([b'{"task":', deep, b'{"a":1e999}'])


_TEXTS = _mutated(_CARD) | _mutated(_WORKER) | _mutated(_STATS)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(text=_TEXTS)
def test_readers_take_anything(text: bytes) -> None:
    _read_all(text)


@pytest.mark.long
@settings(max_examples=1500, deadline=None, derandomize=True, database=None)
@given(text=_TEXTS)
def test_readers_take_anything_of_many(text: bytes) -> None:
    _read_all(text)


def _read_all(text: bytes) -> None:
    for read in (read_task_card, read_worker_card, read_stats):
        try:
            record = read(text)
        except Unreadable:
            continue
        if isinstance(record, TaskCard):
            assert 0 < record.timeout_ms <= 86_400_000 and 0 <= record.at < 1e13
            assert min(record.max_payload_bytes, record.max_backlog) > 0
            assert {type(record.task), type(record.queue)} == {str} and type(record.args) in (str, type(None))
        elif isinstance(record, WorkerCard):
            assert type(record.slots) is int and 0 <= record.slots <= 65_536
            assert {str} >= {type(word) for pair in record.tasks.items() for word in pair} | {type(record.who)}
        else:
            assert record.seen is None or 0 <= record.seen < 1e16


_FIELDS = st.sampled_from(["junk:1.0", "junk:1.0@zz", "where:1.0@zz", "__proto__", "a@b@c"]) | st.text(max_size=12)


def _put(client: Any, key: str, kind: str) -> None:
    client.delete(key)
    writes: dict[str, Callable[[], Any]] = {
        "string": lambda: client.set(key, "x"),
        "list": lambda: client.rpush(key, "x"),
        "hash": lambda: client.hset(key, "x", "y"),
        "set": lambda: client.sadd(key, "x"),
        "zset": lambda: client.zadd(key, {"x": 1}),
        "stream": lambda: client.xadd(key, {"x": "y"}),
    }
    writes[kind]()


class _Well:
    """A worker of queue q, the registry as it wrote it, and what must go on whatever else is there."""

    def __init__(self, server: Server) -> None:
        self.client = redispy.Redis(port=server.port)
        self.url = server.url
        self.started = Started(server, "q")
        self.hub = Hub(server.url)
        self.hub.call("where:1.0")
        self.whole = {key: self.client.dump(key) for key in (TASKS, WORKERS, STATS)}

    def look(self) -> None:
        assert self.hub.call("where", timeout=30) == "q"
        with Hub(self.url) as other:
            assert other.call("where", timeout=30) == "q"
            assert other.call("where:1.0", timeout=30) == "q"
            for name in ("junk:1.0", "junk"):
                with pytest.raises(HubError) as error:
                    other.call(name, timeout=0.05)
                # Or the machine had no turn for it in that time.
                assert error.value.code in ("NoSuchTask", "NoWorkers", "Timeout", "NotEnqueued")
        following = Worker(self.url, tasks=[task("following:1.0")(lambda: 1)], queue="q").start()
        try:
            with Hub(self.url) as other:
                assert other.call("following", timeout=30) == 1
        finally:
            following.stop()

    def repair(self) -> None:
        for key, content in self.whole.items():
            self.client.restore(key, 0, content, replace=True)
        self.client.zrem("pshub:{q}:leases", "junk")
        for name in ("cancelled", "paused", "dead", "held:junk", "reporter"):
            self.client.delete(f"pshub:{{q}}:{name}")
        for key in self.client.scan_iter("pshub:{zz}:*"):
            self.client.delete(key)

    def end(self) -> None:
        self.hub.close()
        self.started.close()
        self.client.close()


@pytest.fixture(scope="module")
def well(shared_server: Server) -> Iterator[_Well]:
    shared_server.client.flushall()
    well = _Well(shared_server)
    yield well
    well.end()


_SETTINGS = settings(max_examples=20, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.long
@_SETTINGS
@given(
    cards=st.lists(st.tuples(_FIELDS, _mutated(_CARD)), max_size=4),
    workers=st.lists(_mutated(_WORKER), max_size=2),
    stats=_mutated(_STATS),
)
def test_any_record_hurts_nothing_else(well: _Well, cards: Any, workers: Any, stats: bytes) -> None:
    for field, text in cards:
        well.client.hset(TASKS, field.encode("utf-8", "replace"), text)
    for text in workers:
        well.client.hset(WORKERS, "junk", text)
        well.client.zadd("pshub:{q}:leases", {"junk": (time.time() + 600) * 1000})
    well.client.hset(STATS, "junk", stats)
    well.look()
    well.repair()


_KINDS = st.sampled_from(["string", "list", "hash", "set", "zset", "stream"])
_PLACES = ["{zz}:leases", "{zz}:calls", "{zz}:bell", "{q}:held:junk", "{q}:paused", "{q}:cancelled", "{q}:reporter", "stats"]


@pytest.mark.long
@_SETTINGS
@given(places=st.lists(st.tuples(st.sampled_from(_PLACES), _KINDS), min_size=1, max_size=5))
def test_any_type_at_any_key_hurts_nothing_else(well: _Well, places: Any) -> None:
    well.client.hset(TASKS, "junk:1.0", json.dumps(_CARD))
    for name, kind in places:
        _put(well.client, f"pshub:{name}", kind)
    well.look()
    well.repair()


@pytest.mark.parametrize("key", [TASKS, WORKERS])
def test_a_registry_of_another_type_is_an_empty_one(server: Server, key: str) -> None:
    started = Started(server, "q")
    told: list[dict[str, Any]] = []
    server.client.delete(key)
    server.client.set(key, "x")
    try:
        with Hub(server.url) as hub:
            hub.events.on("registry:unreadable", told.append)
            with pytest.raises(HubError) as error:
                hub.call("where:1.0")
        assert error.value.code == ("NoSuchTask" if key == TASKS else "NoWorkers")
        assert told == [{"key": key, "field": None, "reason": "it has another type (WRONGTYPE)"}]
    finally:
        started.close()
