"""Users of Redis that may do too little, or just enough."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

import pytest

from called_tasks import add
from conftest import ROOT, Server, eventually, with_connection
from merged_tasks import Merge, fail_first
from pshub import ConfigError, Hub, NotEnqueued, Worker
from pshub.redis.library import install

#: The protocol's own, by role.
RULES = {
    words[2]: words[3:]
    for words in map(str.split, (ROOT / "PROTOCOL.md").read_text(encoding="utf-8").splitlines())
    if words[:2] == ["ACL", "SETUSER"]
}


@pytest.fixture
def user(server: Server) -> Iterator[Callable[..., str]]:
    """Makes a user with such rules and returns the URL for it."""
    made = []

    def make(name: str, *rules: str) -> str:
        made.append(name)
        server.client.execute_command("ACL", "SETUSER", name, *rules)
        return f"redis://{name}:secret@127.0.0.1:{server.port}"

    yield make
    server.client.execute_command("ACL", "DELUSER", *made)


def test_rights_that_lack_are_named(server: Server, user: Callable[..., str]) -> None:
    may = ["+fcall", "+function|load", "+time", "+hkeys", "+hmget", "+zrangebyscore", "+info", "+ping"]
    url = user("poor", "on", ">secret", "resetkeys", "-@all", "~*", *may)
    with pytest.raises(ConfigError, match="may not serve a queue: it lacks"):
        Worker(url, tasks=[add]).start()
    with Worker(server.url, tasks=[add]):
        with Hub(url) as hub, pytest.raises(NotEnqueued, match="it lacks .*RPUSH"):
            hub.call("add:1.0", x=1)
        with Hub(url.replace("secret", "wrong")) as hub, pytest.raises(NotEnqueued, match="user or password"):
            hub.call("add:1.0", x=1)
    user("poor", "-fcall")
    with pytest.raises(ConfigError, match="used: this user may not serve a queue: it lacks FCALL"):
        Worker(url, tasks=[add]).start()


def test_exactly_the_rights_of_the_protocol_are_enough(server: Server, user: Callable[..., str]) -> None:
    hub_url, worker_url = (user(name, *RULES[name]) for name in ("pshub-hub", "pshub-worker"))
    with_connection(user("pshub-install", *RULES["pshub-install"]), install)
    assert not any("eval" in rule or "function" in rule for name in ("pshub-hub", "pshub-worker") for rule in RULES[name])
    with Worker(worker_url, tasks=[add]), Hub(hub_url) as hub:
        assert hub.call("add:1.0", x=1) == 3
        assert hub.call("add", x=1) == 3


def test_they_are_enough_for_merged_jobs_and_their_keys(server: Server, user: Callable[..., str]) -> None:
    with_connection(server.url, install)
    jobs_url, worker_url = (user(name, *RULES[name]) for name in ("pshub-jobs", "pshub-worker"))
    merge = Merge(fail_first(ValueError("not yet")), backoff=60_000)
    with Worker(worker_url, tasks=[merge.task]), Hub(jobs_url) as hub:
        key = hub.key(merge.task, "a")
        for n in (1, 2):
            hub.enqueue(merge.task, n, key="a", delay_ms=60_000)
        assert (key.status().state, key.run_now()) == ("later", 2)
        eventually(lambda: key.status().tries == 1)
        assert key.skip() is True and [job.args for job in key.dead()] == [1]
        eventually(lambda: merge.brought == [{"a": [1, 2]}, {"a": [2]}])
        hub.enqueue(merge.task, 3, key="a", delay_ms=60_000)
        assert (key.delete(), key.retry_dead()) == (1, 1)
        eventually(lambda: merge.brought[2:] == [{"a": [1]}])


def test_what_is_not_needed_is_not_missed(server: Server, user: Callable[..., str]) -> None:
    with_connection(server.url, install)
    without = ("-info", "-client|setname", "-client|id", "-client|unblock")
    hub_url, worker_url = (user(name, *RULES[name], *without) for name in ("pshub-hub", "pshub-worker"))
    with Worker(worker_url, tasks=[add]), Hub(hub_url) as hub:
        assert hub.call("add:1.0", x=1) == 3


def test_without_the_library_who_may_not_load_it_is_told_what_to_do(server: Server, user: Callable[..., str]) -> None:
    hub_url, worker_url = (user(name, *RULES[name]) for name in ("pshub-hub", "pshub-worker"))
    server.client.function_flush()
    missing = "pshub's library is missing, and it cannot be loaded: the Redis user lacks a right.*Load it with: pshub install"
    with pytest.raises(ConfigError, match=missing):
        Worker(worker_url, tasks=[add]).start()
    # A worker that needs no library, as in PROTOCOL.md, section 8.2.
    server.client.hset("pshub:tasks", "add:1.0", json.dumps({"task": "add:1.0", "queue": "q", "at": 1}))
    server.client.hset("pshub:workers", "w", json.dumps({"id": "w", "queue": "q", "tasks": {"add:1.0": ""}}))
    server.client.zadd("pshub:{q}:leases", {"w": time.time() * 1000 + 60_000})
    with Hub(hub_url) as hub, pytest.raises(NotEnqueued, match="run 'pshub install'.*ERR Function not found"):
        hub.call("add:1.0", x=1)
