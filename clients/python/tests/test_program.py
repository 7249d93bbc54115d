"""The command pshub-worker-py, metrics, logs, statistics of many tasks."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, List

import pytest

from conftest import HERE, Server, eventually
from pshub import Hub, TaskFailed, Worker, task
from pshub.figures.callers import MAX_CALLERS, OTHER_CALLERS, Callers
from pshub.figures.recent_failures import RecentFailures
from pshub.figures.task_stats import TaskStats
from pshub.wire.phases import Phases


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pshub", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def test_usage(tmp_path: Path, server: Server) -> None:
    empty, broken = tmp_path / "empty.py", tmp_path / "broken.py"
    empty.write_text("x = 1\n")
    broken.write_text("raise RuntimeError('no')\n")
    assert run("--version").stdout.strip() == "0.1.0"
    assert run().returncode == 2
    without = run(str(empty), "--redis", server.url)
    assert without.returncode == 2 and "declares no task" in without.stderr
    assert run(str(broken), "--redis", server.url).returncode == 1
    assert run("no.such.module", "--redis", server.url).returncode == 1
    slots = run(str(HERE / "tasks.py"), "--slots", "0")
    assert slots.returncode == 2 and "slots" in slots.stderr
    server.client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        unfit = run(str(HERE / "tasks.py"), "--redis", server.url)
        assert unfit.returncode == 2 and "allkeys-lru" in unfit.stderr
    finally:
        server.client.config_set("maxmemory-policy", "noeviction")


def test_log_lines_hold_no_payload(server: Server, start_worker: Any) -> None:
    worker = start_worker(server, "--log-level", "debug")
    with Hub(server.url) as hub:
        with pytest.raises(Exception):
            hub.call("add:1.0", {"x": "secret-argument"})
        hub.call("add:1.0", x=1)
    worker.signal(15)
    assert worker.wait() == 0
    lines = [json.loads(line) for line in worker.said().splitlines()]
    told = [line["msg"] for line in lines]
    assert "worker started" in told and "worker stopped" in told and "secret-argument" not in worker.said()


def test_a_signal_shows_where_each_thread_is(server: Server, start_worker: Any) -> None:
    worker = start_worker(server)
    with Hub(server.url) as hub, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(hub.call, "stubborn:1.0", ms=3000)
        eventually(lambda: any('"busy":1' in stats for stats in server.client.hvals("pshub:stats")), 5, "a slot in use")
        worker.signal(signal.SIGTTIN)
        eventually(lambda: "in stubborn" in worker.said(), 5, "the stack of the handler")
        assert "Thread pshub-slot-1 (most recent call last):" in worker.said()
        assert "Thread MainThread" in worker.said()
        assert slow.result() == "done"
    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0


def test_metrics(server: Server) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        daemon.settimeout(5)
        address = f"127.0.0.1:{daemon.getsockname()[1]}"

        @task("add:1.0")
        def add(x: int) -> int:
            return x

        @task("fail:1.0")
        def fail() -> None:
            raise ValueError("no")

        worker = Worker(server.url, tasks=[add, fail], queue="q1", statsd=address).start()
        with Hub(server.url, statsd=address) as hub:
            hub.call("add:1.0", x=1)
            with pytest.raises(TaskFailed):
                hub.call("fail:1.0")
        worker.stop()
        lines: List[str] = []
        while not {"pshub.call.error", "pshub.worker.error"} <= {line.split(":")[0] for line in lines}:
            lines += daemon.recv(65_536).decode().split("\n")
        names = {line.split(":")[0] for line in lines}
        assert all(line.count("|") >= 1 for line in lines)
        assert "pshub.worker.exec" in names and "pshub.queue.backlog_wait" in names
        assert "pshub.worker.queue_wait" in names and "pshub.call.ok" in names and "pshub.call.error" in names
        exec_line = next(line for line in lines if line.startswith("pshub.worker.exec"))
        assert exec_line.split("|")[1:] == ["ms", "#task:add_1.0,queue:q1"]


def test_statistics_stay_small_and_their_totals_right() -> None:
    stats = TaskStats()
    for n in range(300):
        for _ in range(1 + n % 3):
            stats.ran(f"task{n}:1.0", None, Phases(n, n * 7, n * 1000))
    stats.ran("task1:1.0", "TaskFailed", Phases(1, 1, 1))
    stats.expired("task2:1.0")
    text = stats.text()
    told = json.loads(text)
    assert len(told["tasks"]) == 300 and 1 <= told["ms"] <= 60_000
    windows = [each["window"] for each in told["tasks"].values() if "window" in each] + [told["others"]]
    assert 1 < len(windows) <= 201 and sum(len(json.dumps(each)) for each in windows[:-1]) < 2 * 65_536
    assert sum(window["ok"] for window in windows) == 600
    assert sum(sum(window["us"]["exec"]["counts"][1::2]) for window in windows) == 601
    assert told["tasks"]["task2:1.0"]["errors"] == {"Expired": 1}
    assert eventually(lambda: stats.is_changed)


def test_made_up_names_of_callers_do_not_make_statistics_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("pshub.figures.task_stats.now_s", lambda: now)
    stats = TaskStats()
    for n in range(200):
        for caller in range(25):
            stats.ran(f"task{n}:1.0", None, Phases(1, 1, 1), str(caller).ljust(64, "\x01"))
    # In the last minute all of it is short, and each task has a window.
    now += 120
    for n in range(200):
        stats.ran(f"task{n}:1.0", None, Phases(1, 1, 1), "web")
    text = stats.text()
    assert len(text) < 700_000
    tasks = json.loads(text)["tasks"].values()
    assert [(each["ok"], each["window"]["callers"]) for each in tasks] == [(26, {"web": 1})] * 200
    assert sum("callers" in each for each in tasks) > 20


def test_a_quiet_caller_makes_room_for_a_new_one() -> None:
    callers, windows = Callers(), [{}, {}]  # type: ignore[var-annotated]
    for n in range(MAX_CALLERS):
        callers.count(f"s{n}", 1, windows)
    callers.count("late", 1, windows)
    assert callers.totals[OTHER_CALLERS] == 1 == windows[1][OTHER_CALLERS]
    # Nobody but s1 called in what is the last minute now.
    windows = [{"s1": 1}, {}]
    for name in ("late", "s1", *(f"new{n}" for n in range(MAX_CALLERS))):
        callers.count(name, 2, windows)
    assert callers.totals["late"] == 1 and callers.totals["s1"] == 2 and "s0" not in callers.totals
    assert len(callers.totals) == MAX_CALLERS + 1
    assert sum(callers.totals.values()) == MAX_CALLERS + 1 + 2 + MAX_CALLERS


def test_recent_failures_stay_few(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("pshub.figures.recent_failures.now_s", lambda: now)
    failures = RecentFailures()
    assert not failures.is_changed
    for n in range(500):
        failures.keep(f"t{n % 50}:1.0", f"x{n}", 1, "TaskFailed", "\x01" * 500, None, 1)
    assert failures.is_changed
    text = failures.text()
    assert len(text) <= 131_072 and not failures.is_changed
    told = json.loads(text)
    assert next(iter(told)) == "t49:1.0" and all(len(each) == 10 for each in told.values())
    now += 1800
    failures.keep("late:1.0", "y", 1, "Expired", "", None, 0)
    failures.text()
    now += 1800
    assert failures.is_changed and list(json.loads(failures.text())) == ["late:1.0"] and not failures.is_changed
