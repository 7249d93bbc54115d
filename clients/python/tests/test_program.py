"""The command pshub-worker-py, metrics, logs, statistics of many tasks."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conftest import HERE, Server, eventually, run_command
from pshub import Hub, NotEnqueued, TaskFailed, Worker, task
from pshub.figures.recent_failures import RecentFailures
from pshub.figures.task_stats import TaskStats
from pshub.wire.phases import Phases


def test_usage(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_command("--version") == (0, "0.1.0\n", "")
    assert run_command()[0] == 2
    slots = run_command(str(HERE / "tasks.py"), "--slots", "0")
    assert slots == (2, "", "pshub-worker-py: --slots must be a whole number from 1 to 256; it is 0.\n")
    with monkeypatch.context() as patched:
        patched.setenv("PSHUB_LOG_LEVEL", "loud")
        wrong = "pshub-worker-py: PSHUB_LOG_LEVEL must be debug, info, warn, error or silent; it is 'loud'.\n"
        assert run_command(str(HERE / "tasks.py")) == (2, "", wrong)
    server.client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        command = [sys.executable, "-m", "pshub", str(HERE / "tasks.py"), "--redis", server.url]
        unfit = subprocess.run(command, capture_output=True, text=True, check=False)
        assert unfit.returncode == 2 and "allkeys-lru" in unfit.stderr
    finally:
        server.client.config_set("maxmemory-policy", "noeviction")


def test_what_is_served_is_a_module_that_declares_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    modules = {
        "empty.py": "x = 1\n",
        "broken.py": "def act():\n    {}['port']\n\nact()\n",
        "needy.py": "import nowhere_to_be_found\n",
        "torn.py": "def f(:\n",
        "wrong.py": "from pshub import task\n@task('no name')\ndef f(): ...\n",
    }
    for name, text in modules.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder").mkdir()
    cases = [
        ("empty.py", 2, "empty.py declares no task. Declare one with @task."),
        ("broken.py", 1, f"broken.py failed while loading: KeyError: 'port' ({tmp_path}/broken.py:2)."),
        ("needy.py", 1, f"needy.py could not be loaded: No module named 'nowhere_to_be_found' ({tmp_path}/needy.py:1)."),
        ("torn.py", 1, f"torn.py could not be loaded: invalid syntax ({tmp_path}/torn.py:1)."),
        ("wrong.py", 2, "wrong.py: 'no name' is not a task name. Write name:major.minor"),
        ("nix.py", 2, f"There is no module nix.py ({tmp_path}/nix.py)."),
        ("no.such", 2, f"There is no module no.such: neither the file {tmp_path}/no/such.py nor a package of that name."),
        ("folder", 2, "folder is a directory; pass the path of a module in it."),
    ]
    for name, code, said in cases:
        ended, _, told = run_command(name)
        assert ended == code and told.startswith(f"pshub-worker-py: {said}"), told
        assert told.count("\n") == 1 and "Traceback" not in told


def test_a_file_may_be_called_as_a_module_of_others_and_use_its_neighbours(tmp_path: Path, server: Server) -> None:
    (tmp_path / "json.py").write_text("import besides\nfrom pshub import task\n@task('a:1.0')\ndef a(): return besides.value\n")
    (tmp_path / "besides.py").write_text("value = 7\n")
    worker = subprocess.Popen([sys.executable, "-m", "pshub", str(tmp_path / "json.py"), "--redis", server.url, "--grace", "500ms"])
    try:
        eventually(lambda: server.client.hlen("pshub:workers") == 1, "the worker's registration")
        with Hub(server.url) as hub:
            assert hub.call("a:1.0") == 7
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0
    finally:
        worker.kill()
        worker.wait()


def test_it_has_started_once_redis_knows_it_and_not_before(make_server: Callable[..., Server]) -> None:
    server = make_server()
    server.kill()
    with tempfile.TemporaryFile() as log:
        command = [sys.executable, "-m", "pshub", str(HERE / "tasks.py"), "--redis", f"{server.url.replace('//', '//me:se@cret@')}"]
        worker = subprocess.Popen(command, stderr=log)
        try:
            said = lambda: os.pread(log.fileno(), 1 << 20, 0).decode()  # noqa: E731
            eventually(lambda: "Reconnecting." in said(), "what it says of Redis")
            assert f"Redis at {server.url} could not be reached: " in said() and "worker started" not in said()
            assert "se@cret" not in said()
            server.start()
            server.client.execute_command("ACL", "SETUSER", "me", "on", ">se@cret", "~*", "&*", "+@all")
            eventually(lambda: "worker started" in said(), "its start")
            assert server.client.hlen("pshub:workers") == 1 and said().count("worker started") == 1
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(60) == 0
        finally:
            worker.kill()
            worker.wait()


def test_a_wrong_password_is_told_as_what_it_is(make_server: Callable[..., Server], caplog: Any) -> None:
    server = make_server()
    server.client.config_set("requirepass", "secret")
    url = server.url.replace("//", "//:guess@")
    wrong = "Redis rejected this user or password; correct them in the URL, redis://user:password@host (WRONGPASS "
    with tempfile.TemporaryFile() as log:
        worker = subprocess.Popen([sys.executable, "-m", "pshub", str(HERE / "tasks.py"), "--redis", url], stderr=log)
        try:
            said = lambda: os.pread(log.fileno(), 1 << 20, 0).decode()  # noqa: E731
            eventually(lambda: "Reconnecting." in said(), "what it says of Redis")
            lines = [json.loads(line) for line in said().splitlines()]
        finally:
            worker.kill()
            worker.wait()
    assert lines[-1]["msg"].startswith(f"Redis at {server.url} denies access: {wrong}")
    assert {(line["level"], line["msg"]) for line in lines[:-1]} == {("error", "Redis denies access; reconnecting")}
    assert all(line["reason"].startswith(wrong) for line in lines[:-1]) and "guess" not in str(lines)
    with Hub(url) as hub:
        with pytest.raises(NotEnqueued, match="^The hub could not look up a:1.0 in Redis: Redis rejected this user"):
            hub.call("a:1.0", timeout=2)
    # Also where a program logs in its own way, with no more than the text of a line.
    texts = [record.getMessage() for record in caplog.records if record.name == "pshub"]
    assert any(text.startswith("Redis denies access; reconnecting role=hub") and wrong in text for text in texts)


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
        eventually(lambda: any('"busy":1' in stats for stats in server.client.hvals("pshub:stats")), "a slot in use")
        worker.signal(signal.SIGTTIN)
        eventually(lambda: "in stubborn" in worker.said(), "the stack of the handler")
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

        worker = Worker(server.url, tasks=[add, fail], queue="q1", statsd=address, name="one").start()
        with Hub(server.url, statsd=address, name="web") as hub:
            hub.call("add:1.0", x=1)
            with pytest.raises(TaskFailed):
                hub.call("fail:1.0")
        worker.stop()
        lines: list[str] = []
        while not {"pshub.call.failed", "pshub.worker.failed"} <= {line.split(":")[0] for line in lines}:
            lines += daemon.recv(65_536).decode().split("\n")
        names = {line.split(":")[0] for line in lines}
        assert all(line.count("|") >= 1 for line in lines)
        assert "pshub.worker.exec" in names and "pshub.queue.backlog_wait" in names
        assert "pshub.worker.queue_wait" in names and "pshub.call.ok" in names and "pshub.call.failed" in names
        exec_line = next(line for line in lines if line.startswith("pshub.worker.exec"))
        assert exec_line.split("|")[1:] == ["ms", "#queue:q1,task:add:1.0,name:one"]


def test_statistics_stay_small_and_their_totals_right() -> None:
    stats = TaskStats()
    for n in range(300):
        for _ in range(1 + n % 3):
            stats.ran(f"task{n}:1.0", None, None, Phases(n, n * 7, n * 1000))
    stats.ran("task1:1.0", "TaskFailed", None, Phases(1, 1, 1))
    for n in range(60):
        stats.ran("task1:1.0", f"Made{n}", 400 + n % 2 * 100, Phases(1, 1, 1))
    stats.expired("task2:1.0")
    text = stats.text()
    told = json.loads(text)
    assert len(told["tasks"]) == 300 and 1 <= told["ms"] <= 60_000
    windows = [each["window"] for each in told["tasks"].values() if "window" in each] + [told["others"]]
    assert 1 < len(windows) <= 201 and sum(len(json.dumps(each)) for each in windows[:-1]) < 2 * 65_536
    assert sum(window["ok"] for window in windows) == 600
    assert sum(sum(window["us"]["exec"]["counts"][1::2]) for window in windows) == 661
    assert told["tasks"]["task2:1.0"]["rejected"] == {"Expired": 1}
    rejected, failed = (told["tasks"]["task1:1.0"][outcome] for outcome in ("rejected", "failed"))
    assert len({*rejected, *failed} - {"TaskFailed", "Other"}) == 50 and rejected["Other"] + failed["Other"] == 10
    assert eventually(lambda: stats.is_changed)


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
