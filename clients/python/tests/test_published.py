"""What a worker writes of itself for others to read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from called_tasks import add
from conftest import HERE, Server, eventually, run_command
from pshub import ConfigError, Hub, TaskFailed, Worker, task


def test_recent_failures_and_callers(server: Server, worker: Worker) -> None:
    with Hub(server.url, name="shop") as shop:
        for _ in range(12):
            with pytest.raises(TaskFailed) as raised:
                shop.call("fail:1.0")
        assert shop.call("add:1.0", x=1) == 3
    seconds, _ = server.client.time()
    late = {"task": "add:1.0", "id": "late", "ttl": 5, "at": (seconds - 60) * 1_000_000}
    invalid = {"task": "add:1.0", "id": "invalid", "args": {"x": "text"}, "from": "half \ud800"}
    server.client.rpush("pshub:{default}:calls", json.dumps(late), json.dumps(invalid))
    server.client.rpush("pshub:{default}:bell", "1")

    def told() -> Any:
        failures = json.loads(server.client.hget("pshub:failures", worker.id) or "{}")
        return failures if len(failures.get("add:1.0", [])) == 2 else None

    failures = eventually(told)
    failed = failures["fail:1.0"]
    assert len(failed) == 10 and len({each["id"] for each in failed}) == 10
    newest = failed[0]
    assert newest["id"] == raised.value.id and newest["code"] == "TaskFailed" and newest["from"] == "shop"
    assert newest["message"] == raised.value.message and newest["execUs"] >= 0
    assert [each["at"] for each in failed] == sorted((each["at"] for each in failed), reverse=True)
    assert abs(newest["at"] / 1e6 - seconds) < 10
    by_id = {each["id"]: each for each in failures["add:1.0"]}
    assert by_id["late"]["code"] == "Expired" and by_id["late"]["execUs"] == 0 and "from" not in by_id["late"]
    # Half of a surrogate pair has no UTF-8, and must not keep all the others from being told.
    assert by_id["invalid"]["code"] == "InvalidArgs" and by_id["invalid"]["from"] == "half \ud800"
    stats = eventually(lambda: [s for s in [json.loads(server.client.hget("pshub:taskstats", worker.id))] if "add:1.0" in s["tasks"]])[0]["tasks"]
    assert stats["fail:1.0"]["callers"] == {"shop": 12} == stats["fail:1.0"]["window"]["callers"]
    assert stats["add:1.0"]["callers"] == {"shop": 1, "": 1, "half \ud800": 1}
    assert "jobs" not in stats["add:1.0"]
    with Hub(server.url) as hub:
        hub.enqueue("add:1.0", {"x": 1})
    told_jobs = eventually(lambda: json.loads(server.client.hget("pshub:taskstats", worker.id))["tasks"]["add:1.0"].get("jobs"))
    assert told_jobs == {"ok": 1, "rejected": {}, "failed": {}}
    worker.stop()
    assert not server.client.hexists("pshub:failures", worker.id)


def test_what_a_dead_worker_measured_is_swept(server: Server) -> None:
    for key in ("stats", "taskstats", "slow", "failures"):
        server.client.hset(f"pshub:{key}", "dead", '{"seen":1}')
    worker = Worker(server.url, tasks=[add]).start()
    try:
        for key in ("stats", "taskstats", "slow", "failures"):
            eventually(lambda key=key: not server.client.hexists(f"pshub:{key}", "dead"), key)
    finally:
        worker.stop()


WRONG = "must be a string of 1 to 64 characters without control characters; it is"


@pytest.mark.parametrize("build", ["", "x" * 65, "3f2c1a\n", "a\u0085", "a\udc80", 7])
def test_what_is_no_short_text_is_refused(build: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        Worker(tasks=[task("a:1.0")(lambda: 1)], build=build)
    assert str(raised.value) == f"option 'build' {WRONG} {build!r}."


def test_the_flag(server: Server, start_worker: Any) -> None:
    worker = start_worker(server, "--build", "3f2c1a")
    started = next(line for line in map(json.loads, worker.said().splitlines()) if line["msg"] == "worker started")
    assert started["build"] == "3f2c1a"
    assert [json.loads(card)["build"] for card in server.client.hvals("pshub:workers")] == ["3f2c1a"]
    assert run_command(str(HERE / "tasks.py"), "--build", "a\tb") == (2, "", f"pshub-worker-py: --build {WRONG} 'a\\tb'.\n")


def test_it_is_on_the_card(server: Server) -> None:
    tasks = [
        task("wipe:1.0", dangerous="Deletes all orders.")(lambda: 1),
        task("drop:1.0", dangerous=True)(lambda: 1),
        task("look:1.0")(lambda: 1),
    ]
    with Worker(server.url, tasks=tasks):
        cards = {name: json.loads(card) for name, card in server.client.hgetall("pshub:tasks").items()}
    assert [cards[name].get("dangerous") for name in ("wipe:1.0", "drop:1.0", "look:1.0")] == ["Deletes all orders.", True, None]


@pytest.mark.parametrize("dangerous", ["", "  ", "x" * 501, 1, None, []])
def test_what_says_neither_is_refused(dangerous: Any) -> None:
    with pytest.raises(ConfigError, match="'dangerous' must be True or False, or say why in 1 to 500 characters"):
        task("wipe:1.0", dangerous=dangerous)
