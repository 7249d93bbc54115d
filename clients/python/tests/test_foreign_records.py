"""Anything at all, at every key of the registry that is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Server
from pshub import ConfigError, Hub, HubError, task
from pshub.catalogue.cards import TaskCard, WorkerCard, read_stats, read_task_card, read_worker_card
from pshub.wire.foreign import Unreadable, object_of
from registered import TASKS, WORKERS, Started


def test_a_declaration_that_nobody_would_read_is_refused() -> None:
    with pytest.raises(ConfigError, match="at most 250000 fit on a card"):
        task("long:1.0", description="x" * 260_000)(lambda: None)


@pytest.mark.parametrize(
    "text, reason",
    [
        (b"[1]", "it is no JSON object"),
        (b"null", "it is no JSON object"),
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
        assert told == [{"key": key, "field": None, "reason": "it is of another type (WRONGTYPE)"}]
    finally:
        started.close()
