"""Which build of its program a worker says that it runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conftest import HERE, Server, run_command
from pshub import ConfigError, Worker, task

WRONG = "must be a text of 1 to 64 characters without control characters; it is"


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
