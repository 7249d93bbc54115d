"""What leaves the process beside Redis: plain log lines, and metrics whose daemon's name is looked up."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from called_tasks import add
from conftest import Server, eventually
from pshub import AsyncHub, Hub, InvalidArgs, Worker
from pshub.figures.events import Events
from pshub.outlets import statsd_socket
from pshub.outlets.log import log_events
from pshub.outlets.statsd import StatsD
from pshub.outlets.task_log import TaskLog
from waits import PATIENCE_S

NAME = "metrics.test"


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What logging.basicConfig() would write."""
    written: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    handler = Handler()
    handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
    logger = logging.getLogger("pshub")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield written
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def test_a_plain_log_says_what_and_where_and_why(lines: list[str]) -> None:
    events = Events()
    log_events(events)
    failed: dict[str, Any] = {"task": "a:1.0", "queue": "mail", "id": "7", "code": "TaskFailed", "message": "it is full"}
    events.emit("task:settled", ok=False, outcome="failed", problems=[], **failed)
    events.emit("job:dead", queue="mail", task="a:1.0", id="7", reason="TaskFailed: it is full")
    events.emit("redis:down", role="worker commands", reason="gone")
    events.emit("problem", where="beat", reason="no answer")
    TaskLog("a:1.0", "7").info("half way", rows=10)
    assert lines == [
        "WARNING:pshub:task failed task=a:1.0 queue=mail id=7 code=TaskFailed reason=it is full",
        "ERROR:pshub:job is dead; to list dead jobs: pshub dead queue=mail task=a:1.0 id=7 reason=TaskFailed: it is full",
        "WARNING:pshub:lost the connection to Redis; reconnecting role=worker commands reason=gone",
        "ERROR:pshub:problem where=beat reason=no answer",
        "INFO:pshub:half way task=a:1.0 id=7 rows=10",
    ]


def test_what_a_handler_says_begins_no_line_of_its_own(lines: list[str]) -> None:
    events = Events()
    log_events(events)
    events.emit("job:dead", queue="mail", task="a:1.0", id="7", reason="x\nERROR:pshub:all is lost\u2028too")
    [line] = lines
    assert line.endswith(r'reason="x\nERROR:pshub:all is lost\u2028too"')
    events.emit("loop:stuck", tasks=["a:1.0"], ms=2000, stack='  File "a.py", line 1\n')
    assert lines[1] == "WARNING:pshub:event loop is blocked tasks=['a:1.0'] ms=2000\n" + '  File "a.py", line 1\n'


class Names:
    """Stands for the names of the network: that of the daemons leads to one of these, once it may."""

    def __init__(self, monkeypatch: Any) -> None:
        self.daemons = [self._daemon(), self._daemon()]
        self.leads_to = 0
        self.asked = 0
        self.is_away = False
        self.may_answer = threading.Event()
        self.threads: list[str] = []
        real = socket.getaddrinfo

        def getaddrinfo(host: Any, *rest: Any, **more: Any) -> Any:
            if host != NAME:
                return real(host, *rest, **more)
            self.asked += 1
            self.threads.append(threading.current_thread().name)
            self.may_answer.wait(PATIENCE_S)
            if self.is_away:
                raise socket.gaierror("unknown")
            return real("127.0.0.1", self.daemons[self.leads_to].getsockname()[1], *rest[1:], **more)

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    def _daemon(self) -> socket.socket:
        daemon = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        daemon.bind(("127.0.0.1", 0))
        daemon.settimeout(PATIENCE_S)
        return daemon

    def received(self, daemon: int) -> str:
        return self.daemons[daemon].recv(65_536).decode()


@pytest.fixture
def names(monkeypatch: Any) -> Iterator[Names]:
    names = Names(monkeypatch)
    yield names
    names.may_answer.set()
    for daemon in names.daemons:
        daemon.close()


def test_a_name_that_is_looked_up_for_long_holds_up_nothing(server: Server, names: Names) -> None:
    address = f"{NAME}:8125"
    with Worker(server.url, tasks=[add], statsd=address), Hub(server.url, statsd=address) as hub:
        hub.call(add, x=1)
        # Until both have sent what they collected, and while no name is known.
        eventually(lambda: hub.call(add, x=1) == 3 and names.asked == 2)
        assert hub.call(add, x=1) == 3
        assert set(names.threads) == {"pshub-statsd"}
        names.may_answer.set()
        # What was collected meanwhile is there as well.
        eventually(lambda: "pshub.call.time" in names.received(0))


def test_and_what_is_left_at_the_end_is_sent(server: Server, names: Names) -> None:
    threading.Timer(0.3, names.may_answer.set).start()
    with Worker(server.url, tasks=[add]):
        with Hub(server.url, statsd=f"{NAME}:8125") as hub:
            hub.call(add, x=1)
        # By now, since a program may end here.
        names.daemons[0].setblocking(False)
        assert "pshub.call.ok:1|c|#task:add:1.0,name:" in names.received(0)
        names.may_answer.clear()
        threading.Timer(0.3, names.may_answer.set).start()

        async def run() -> None:
            async with AsyncHub(server.url, statsd=f"{NAME}:8125") as asking:
                await asking.call(add, x=1)

        asyncio.run(run())
        assert "pshub.call.ok:1|c" in names.received(0)


def test_figures_of_a_daemon_that_is_not_known_do_not_pile_up(names: Names, monkeypatch: Any) -> None:
    monkeypatch.setattr(statsd_socket, "_RETRY_S", 0.0)
    metrics = StatsD(f"{NAME}:8125", "web")
    for _ in range(1000):
        metrics.add("call.late_reply", 1, {})
    assert len(metrics._socket._waiting) == 50
    names.is_away = True
    names.may_answer.set()
    eventually(lambda: not metrics._socket._waiting)
    names.is_away = False
    eventually(lambda: (metrics.add("job.enqueued", 1, {}), metrics._socket._socket is not None)[1])
    eventually(lambda: "pshub.job.enqueued:1|c|#name:web" in names.received(0))


def test_calls_that_end_before_there_is_a_request_are_told_too(server: Server) -> None:
    told: list[str] = []
    with Hub(server.url) as hub:
        hub.events.on("call:settled", lambda event: told.append(event["code"]))
        with pytest.raises(InvalidArgs):
            hub.call("add:1.0", {}, queue="no queue")
        with pytest.raises(InvalidArgs):
            list(hub.stream("add:1.0", {}, queue="no queue"))
        assert eventually(lambda: told == ["InvalidArgs", "InvalidArgs"])

    async def run() -> None:
        async with AsyncHub(server.url) as asking:
            asking.events.on("call:settled", lambda event: told.append(event["code"]))
            with pytest.raises(InvalidArgs):
                await asking.call("add:1.0", {}, queue="no queue")
            with pytest.raises(InvalidArgs):
                [chunk async for chunk in asking.stream("add:1.0", {}, queue="no queue")]

    asyncio.run(run())
    assert told == ["InvalidArgs"] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_after_a_fork_the_child_sends_its_own(server: Server, names: Names) -> None:
    names.may_answer.set()
    with Worker(server.url, tasks=[add]), Hub(server.url, statsd=f"{NAME}:8125") as hub:
        # Half a second later it would be sent; by the parent.
        hub.call(add, x=1)
        child = os.fork()
        if child == 0:
            try:
                hub.call(add, x=1)
                hub.close()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert _counts(names) == ("pshub.call.ok:1|c", 1)
    assert _counts(names) == ("pshub.call.ok:1|c", 1)


def _counts(names: Names) -> tuple[str, int]:
    [told] = [line for line in names.received(0).splitlines() if line.startswith("pshub.call.ok")]
    return told.split("|#")[0], told.count("call.ok")
