"""Real parts for every test: a redis-server of its own, worker processes, a proxy that cuts connections."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
import redis as redispy

from called_tasks import TASKS
from programs import WorkerProcess, run_command
from pshub import Hub, Worker
from pshub.redis.connection import Connection
from waits import delay, eventually

#: What tests import from here as well.
__all__ = ["WorkerProcess", "eventually", "run_command"]

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
T = TypeVar("T")
_UNOWNED = (ROOT / "test/support/unowned.lua").read_text(encoding="utf-8")


def vectors(name: str) -> Any:
    """A golden file of all languages."""
    return json.loads((ROOT / "clients/vectors" / name).read_text(encoding="utf-8"))


def with_connection(url: str, act: Callable[[Connection], Coroutine[Any, Any, Any]], stall_s: float = 2.0) -> Any:
    async def run() -> Any:
        connection = Connection(url, "test", stall_s)
        connection.open()
        await connection.when_ready()
        try:
            return await act(connection)
        finally:
            await connection.close()

    return asyncio.run(run())


class PortTaken(Exception):
    """A port that was free a moment ago may be another's by now: many tests start servers at the same time."""


def on_free_port(start: Callable[[int], T]) -> T:
    """For servers that cannot take port 0 and tell which one they got; ``start`` raises PortTaken if somebody was quicker."""
    for is_last in (False, False, False, False, True):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        try:
            return start(port)
        except PortTaken:
            if is_last:
                raise
    raise AssertionError


class Server:
    """A redis-server on a free port, in a directory of its own."""

    def __init__(self, *arguments: str) -> None:
        self.dir = tempfile.mkdtemp(prefix="pshub-redis-")
        self.process: subprocess.Popen[bytes] | None = None
        on_free_port(lambda port: self._begin(port, arguments))

    def _begin(self, port: int, arguments: tuple[str, ...]) -> None:
        self.port = port
        self.url = f"redis://127.0.0.1:{port}"
        self.client = redispy.Redis(port=port, decode_responses=True)
        try:
            self.start(*arguments)
        except PortTaken:
            self.client.close()
            raise

    def start(self, *arguments: str) -> None:
        command = [os.environ.get("PSHUB_TEST_SERVER", "redis-server"), "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--dir", self.dir, "--save", "", "--appendonly", "no", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        eventually(self._is_up, "the start of redis-server")

    def _is_up(self) -> bool:
        """And it is this one that answers."""
        assert self.process is not None
        if self.process.poll() is not None:
            raise PortTaken(f"redis-server ended by itself; its port {self.port} may be another's")
        try:
            return bool(self.client.ping()) and self.client.info("server")["process_id"] == self.process.pid
        except redispy.ConnectionError:
            return False

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def close(self) -> None:
        self.client.close()
        self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def keys(self, pattern: str = "*") -> set[str]:
        """SCAN may return a key more than once while its table grows or shrinks."""
        return set(self.client.scan_iter(pattern))

    def held(self) -> list[str]:
        return sorted(self.keys("pshub:*:held:*"))

    def leftovers(self) -> list[str]:
        """Keys that stay when hubs and workers are gone, but for those of the registry, and those that go by themselves."""
        lasting = ("pshub:tasks", "pshub:queues")
        return sorted(key for key in self.keys() if key not in lasting and self.client.ttl(key) == -1)


@pytest.fixture(scope="session")
def shared_server() -> Iterator[Server]:
    """One for each process that runs tests."""
    server = Server()
    yield server
    server.close()


@pytest.fixture
def server(request: pytest.FixtureRequest, shared_server: Server) -> Iterator[Server]:
    """Empty at the start, and at the end of what hubs and workers leave."""
    shared_server.client.flushall()
    yield shared_server
    if not request.node.get_closest_marker("strangers"):
        owned_by_all(shared_server)


def owned_by_all(server: Server) -> None:
    """Nothing lies there for ever that nobody owns: see test/support/unowned.lua. What was killed just now has come to its end soon."""
    end = time.monotonic() + 2
    while wrong := server.client.eval(_UNOWNED, 0, "pshub"):
        assert time.monotonic() < end, "Nobody owns what is left for ever:\n" + "\n".join(wrong[:20])
        delay(0.02, "the interval between two looks")


def beats(server: Server, worker: Worker, count: int = 3) -> None:
    """Waits until the worker has beaten so often, as its statistics show."""

    def seen() -> int:
        text = server.client.hget("pshub:stats", worker.id or "")
        return int(json.loads(str(text))["seen"]) if text else 0

    for _ in range(count):
        before = seen()
        eventually(lambda before=before: seen() > before, "a beat")  # type: ignore[misc]


def maker(make: Callable[..., T]) -> Iterator[Callable[..., T]]:
    """For a fixture that makes as many as a test wants; they are closed when it is over."""
    made: list[Any] = []

    def one(*arguments: Any) -> T:
        made.append(make(*arguments))
        return made[-1]

    yield one
    for each in made:
        each.close()


@pytest.fixture
def make_server() -> Iterator[Callable[..., Server]]:
    """For tests that stop it, or want more than one."""
    yield from maker(Server)


@pytest.fixture
def own_server(make_server: Callable[..., Server]) -> Server:
    return make_server()


class Proxy:
    """Stands before Redis, loses what it is told to lose, and cuts connections."""

    def __init__(self, port: int) -> None:
        self.target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        #: Answers of the server are swallowed, on all connections.
        self.loses_answers = False
        #: From the moment on when this text goes to the server, answers are swallowed: what is asked before that is answered,
        #: however long it takes.
        self.loses_answers_from: str | None = None
        #: How fast answers of the server come, on each connection.
        self.bytes_per_s: int | None = None
        #: How many bytes of answers went on to clients.
        self.passed_bytes = 0
        self.lost_bytes = 0
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            self._sockets += [client, server]
            threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        try:
            while True:
                data = source.recv(65_536)
                if not data:
                    break
                if not is_answer and self.loses_answers_from and self.loses_answers_from.encode() in data:
                    self.loses_answers, self.loses_answers_from = True, None
                if is_answer and self.loses_answers:
                    self.lost_bytes += len(data)
                else:
                    target.sendall(data)
                    self.passed_bytes += len(data) if is_answer else 0
                if is_answer and self.bytes_per_s:
                    delay(len(data) / self.bytes_per_s, "the speed of the link")
        except OSError:
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self) -> None:
        sockets, self._sockets = self._sockets, []
        for each in sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def close(self) -> None:
        stop_listening(self._listener)
        self.cut()


def stop_listening(listener: socket.socket) -> None:
    """Closed alone it would go on listening for as long as a thread waits in it, and so would that thread."""
    # Not every system lets it.
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()


@pytest.fixture
def make_proxy() -> Iterator[Callable[[Server], Proxy]]:
    yield from maker(lambda server: Proxy(server.port))


@pytest.fixture
def start_worker() -> Iterator[Callable[..., WorkerProcess]]:
    yield from maker(lambda server, *arguments: WorkerProcess(server.url, *arguments))


@pytest.fixture
def worker(server: Server) -> Iterator[Worker]:
    worker = Worker(server.url, tasks=TASKS, slots=4)
    worker.start()
    yield worker
    worker.stop(grace=0)
    assert server.leftovers() == []


@pytest.fixture
def hub(server: Server, worker: Worker) -> Iterator[Hub]:
    with Hub(server.url, name="tests") as hub:
        yield hub
