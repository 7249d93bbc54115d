"""Probes of a worker: /livez and /readyz, over HTTP."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any

import pytest

from conftest import HERE, Server, WorkerProcess, eventually
from pshub import ConfigError, Hub, Worker, task

READY = (200, {"ready": True})
LIVE = (200, {"live": True})


def probe(port: int, path: str, patience_s: float = 60.0) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", port, timeout=patience_s)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def port_in(log: str) -> int | None:
    """Where it answers probes, as it said itself."""
    lines = [json.loads(line) for line in log.splitlines()]
    return next((line["port"] for line in lines if line["msg"].startswith("probes are answered")), None)


def reached(port: int, path: str) -> tuple[int, Any] | None:
    try:
        return probe(port, path)
    except OSError:
        return None


def raw(port: int, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        told = b""
        while part := client.recv(65_536):
            told += part
        return told


def test_a_worker_answers_them(server: Server, start_worker: Callable[..., WorkerProcess]) -> None:
    worker = start_worker(server, "--health-port", "0")
    port = eventually(lambda: port_in(worker.said()))
    # Others see it a moment before it serves.
    eventually(lambda: probe(port, "/readyz") == READY, "that it serves")
    assert probe(port, "/livez?verbose") == LIVE
    assert probe(port, "/") == (404, {"error": "Only /livez and /readyz exist here."})
    assert "probes are answered: /livez and /readyz" in worker.said()
    head = raw(port, b"HEAD /livez HTTP/1.1\r\nhost: a\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n") and head.endswith(b"\r\n\r\n")
    # Whatever comes to the port, it is answered, and costs the others nothing.
    for wrong in (b"\x16\x03\x01\x02\r\n\r\n", b"GET /livez\r\n\r\n", b"GET /" + b"a" * 10_000):
        assert raw(port, wrong).startswith(b"HTTP/1.1 400 ")
    with socket.create_connection(("127.0.0.1", port)):
        assert probe(port, "/livez") == LIVE
        worker.signal(signal.SIGTERM)
        assert worker.wait() == 0
    assert reached(port, "/livez") is None


def test_they_say_that_redis_is_away_and_that_it_is_back(own_server: Server, start_worker: Callable[..., WorkerProcess]) -> None:
    worker = start_worker(own_server, "--health-port", "0", "--lease", "2s")
    port = eventually(lambda: port_in(worker.said()))
    assert own_server.process is not None
    own_server.process.send_signal(signal.SIGSTOP)
    try:
        eventually(lambda: probe(port, "/readyz")[0] == 503, "the end of the lease")
        assert probe(port, "/livez") == LIVE
        away = (503, {"ready": False, "reason": "Redis is unreachable"})
        eventually(lambda: probe(port, "/readyz") == away, "what is said of Redis")
    finally:
        own_server.process.send_signal(signal.SIGCONT)
    eventually(lambda: probe(port, "/readyz") == READY, "a lease again")


def test_they_say_that_it_waits_for_its_first_lease(make_server: Callable[..., Server]) -> None:
    server = make_server()
    server.kill()
    command = [sys.executable, "-m", "pshub", str(HERE / "tasks.py"), "--redis", server.url, "--health-port", "0"]
    log = tempfile.TemporaryFile()
    worker = subprocess.Popen(command, stderr=log)
    try:
        port = eventually(lambda: port_in(os.pread(log.fileno(), 1 << 20, 0).decode()))
        starting = (503, {"ready": False, "reason": "starting"})
        assert eventually(lambda: reached(port, "/readyz"), "an answer") == starting
        assert probe(port, "/livez") == LIVE
        server.start()
        eventually(lambda: probe(port, "/readyz") == READY, "a lease")
    finally:
        worker.kill()
        worker.wait()
        log.close()


@pytest.mark.long
def test_they_say_that_it_stood_still_for_longer_than_its_lease(server: Server, start_worker: Callable[..., WorkerProcess]) -> None:
    worker = start_worker(server, "--health-port", "0", "--lease", "2s")
    port = eventually(lambda: port_in(worker.said()))
    assert probe(port, "/livez") == LIVE
    worker.signal(signal.SIGSTOP)
    os.waitpid(worker.process.pid, os.WUNTRACED)
    with pytest.raises(TimeoutError):
        # Nobody answers.
        probe(port, "/livez", 3.0)
    worker.signal(signal.SIGCONT)
    status, said = probe(port, "/livez")
    assert (status, said["live"], said["reason"]) == (503, False, "the event loop was blocked")
    assert said["blockedMs"] > 2000
    # It is remembered for a while, and no longer.
    eventually(lambda: probe(port, "/livez") == LIVE, "that it is forgotten")


def test_they_say_that_it_stops(server: Server, caplog: Any) -> None:
    begun, may_end = threading.Event(), threading.Event()

    @task("wait:1.0")
    def wait() -> None:
        begun.set()
        may_end.wait(20)

    caplog.set_level("INFO", "pshub")
    worker = Worker(server.url, tasks=[wait], health_port=0).start()
    [port] = [record.msg.fields["port"] for record in caplog.records if "probes are answered" in record.getMessage()]
    with Hub(server.url) as hub:
        told: dict[str, Any] = {}
        calling = threading.Thread(target=lambda: told.update(result=hub.call("wait:1.0", timeout=20)))
        calling.start()
        assert begun.wait(10)
        stopping = threading.Thread(target=worker.stop)
        stopping.start()
        stops = (503, {"ready": False, "reason": "stopping"})
        eventually(lambda: probe(port, "/readyz") == stops, "that it stops")
        assert probe(port, "/livez") == LIVE
        may_end.set()
        stopping.join(60)
        calling.join(60)
        assert told == {"result": None} and reached(port, "/livez") is None


def test_each_needs_a_port_that_nobody_else_has(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        wrong = (
            f"The worker cannot answer probes on port {port} (health_port, --health-port or PSHUB_HEALTH_PORT): "
            "another program listens there; give each worker on a machine its own port."
        )
        with pytest.raises(ConfigError) as raised:
            Worker(server.url, tasks=[task("a:1.0")(lambda: 1)], health_port=port).start()
        assert str(raised.value) == wrong
        command = [sys.executable, "-m", "pshub", str(HERE / "tasks.py"), "--redis", server.url, "--health-port", str(port)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (2, f"pshub-worker-py: {wrong}\n")
    assert server.client.hlen("pshub:workers") == 0


def test_what_is_no_port_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [task("a:1.0")(lambda: 1)]
    with pytest.raises(ConfigError, match="^option 'health_port' must be a whole number from 0 to 65535; it is 70000.$"):
        Worker(tasks=tasks, health_port=70_000)
    monkeypatch.setenv("PSHUB_HEALTH_PORT", "http")
    with pytest.raises(ConfigError, match="^PSHUB_HEALTH_PORT must be a whole number from 0 to 65535; it is 'http'.$"):
        Worker(tasks=tasks)
    with pytest.raises(TypeError, match="unexpected keyword argument 'health_port'"):
        Hub(health_port=1)  # type: ignore[call-arg]


def test_the_option_beats_the_environment_and_0_takes_a_free_port(server: Server, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    caplog.set_level("INFO", "pshub")
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setenv("PSHUB_HEALTH_PORT", str(other.getsockname()[1]))
        with Worker(server.url, tasks=[task("a:1.0")(lambda: 1)], health_port=0):
            told = [record.msg.fields["port"] for record in caplog.records if "probes are answered" in record.getMessage()]
            assert len(told) == 1 and probe(told[0], "/readyz") == READY
