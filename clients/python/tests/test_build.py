"""Which build of its program a worker says that it runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Server
from pshub import ConfigError, Hub, Worker, task

HERE = Path(__file__).parent
WRONG = "must be a text of 1 to 64 characters without control characters; it is"


def _card(server: Server, worker: Worker) -> dict[str, Any]:
    return json.loads(server.client.hget("pshub:workers", worker.id))


def test_it_is_on_the_card_and_in_the_line_of_the_start(server: Server, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    caplog.set_level("INFO", "pshub")
    tasks = [task("a:1.0")(lambda: 1)]
    monkeypatch.setenv("PSHUB_BUILD", "3f2c1a")
    with Worker(server.url, tasks=tasks) as worker, Worker(server.url, tasks=tasks, build="v7") as other:
        assert [_card(server, worker)["build"], _card(server, other)["build"]] == ["3f2c1a", "v7"]
    told = [record.msg.fields.get("build") for record in caplog.records if "worker started" in record.getMessage()]
    assert told == ["3f2c1a", "v7"]


def test_without_one_there_is_none(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    # As an image has it that was built without one.
    monkeypatch.setenv("PSHUB_BUILD", "")
    with Worker(server.url, tasks=[task("a:1.0")(lambda: 1)]) as worker:
        assert "build" not in _card(server, worker)


@pytest.mark.parametrize("build", ["", "x" * 65, "3f2c1a\n", "a\u0085", "a\udc80", 7])
def test_what_is_no_short_text_is_refused(build: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        Worker(tasks=[task("a:1.0")(lambda: 1)], build=build)
    assert str(raised.value) == f"option 'build' {WRONG} {build!r}."


def test_a_hub_has_none() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'build'"):
        Hub(build="3f2c1a")  # type: ignore[call-arg]


def test_the_flag(server: Server, start_worker: Any) -> None:
    worker = start_worker(server, "--build", "3f2c1a")
    started = next(line for line in map(json.loads, worker.said().splitlines()) if line["msg"] == "worker started")
    assert started["build"] == "3f2c1a"
    assert [json.loads(card)["build"] for card in server.client.hvals("pshub:workers")] == ["3f2c1a"]
    command = [sys.executable, "-m", "pshub", str(HERE / "tasks.py"), "--build", "a\tb"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stderr) == (2, f"pshub-worker-py: --build {WRONG} 'a\\tb'.\n")
