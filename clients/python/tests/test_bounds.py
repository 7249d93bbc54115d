"""What is kept, taken, written and waited for has an end."""

from __future__ import annotations

import asyncio
import json
import math
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Proxy, Server, eventually, with_connection
from pshub import Worker, task
from pshub.hub.inbox import Inbox
from pshub.queue.batches import batches_of
from pshub.queue.queue import Queue
from pshub.redis.connection import Connection
from pshub.redis.refusals import ReplyError
from pshub.wire.answers import Adopted
from pshub.wire.keys import Keys
from pshub.wire.redis_clock import RedisClock
from pshub.worker.roles import adopt as adopt_module
from pshub.worker.roles.adopt import Adopt
from pshub.worker.slot_pool import SlotPool
from pshub.worker.slots import Slots
from waits import PATIENCE_S, aeventually

CALLS = "pshub:{default}:calls"


@task("echo:1.0")
def echo(args: Any) -> Any:
    return args


def _message(id: str, size: int) -> str:
    at = time.time_ns() // 1000
    return json.dumps({"at": at, "ttl": 60_000, "id": id, "task": "echo:1.0", "args": "x" * size}, separators=(",", ":"))


def test_writes_are_bounded_in_number_and_in_bytes() -> None:
    sizes = [700_000, 700_000, 10, 2_000_000, 10]
    assert list(batches_of(sizes, int)) == [[700_000], [700_000, 10], [2_000_000], [10]]
    assert [len(batch) for batch in batches_of([1] * 600, int)] == [256, 256, 88]


def test_claims_are_bounded_in_bytes(server: Server) -> None:
    server.client.rpush(CALLS, *(_message(f"m{n}", 400_000) for n in range(12)))
    worker = Worker(server.url, tasks=[echo], slots=64)
    taken: list[int] = []
    worker.events.on("claim:taken", lambda event: taken.append(event["count"]))
    worker.start()
    try:
        eventually(lambda: sum(taken) == 12)
        assert max(taken) == 3
        eventually(lambda: server.held() == [])
    finally:
        worker.stop()


def test_what_is_read_of_held_requests_is_bounded_in_bytes(server: Server) -> None:
    server.client.hset("pshub:{q}:held:w", mapping={f"m{n}": "x" * 400_000 for n in range(5)})

    async def read(connection: Connection) -> Any:
        queue = Queue("q", Keys("pshub"))
        return await queue.held_texts(connection, "w", ["gone", *(f"m{n}" for n in range(5))])

    assert [id for id, _ in with_connection(server.url, read)] == ["m0", "m1", "m2"]
    server.client.delete("pshub:{q}:held:w")


def test_pages_of_replies_begin_small_and_are_bounded_in_bytes() -> None:
    inbox = Inbox(None, "key", "read", lambda: 1, lambda reply, again: None, lambda reason: None)  # type: ignore[arg-type]
    reply = b'{"id":"a","ok":true,"result":"%s"}'
    assert inbox._page == 8
    pages = []
    for _ in range(7):
        inbox._deliver([reply % b"x"], False)
        pages.append(inbox._page)
    assert pages == [16, 32, 64, 128, 256, 256, 256]
    # One large one counts, whatever the others are.
    inbox._deliver([reply % b"x"] * 99 + [reply % (b"x" * 300_000)], False)
    assert inbox._page == 3
    inbox._deliver([reply % (b"x" * 3_000_000)], False)
    assert inbox._page == 1
    inbox._deliver([reply % b"x"], False)
    assert inbox._page == 2


@pytest.mark.long
def test_a_long_answer_on_a_slow_link_is_no_silence(server: Server, make_proxy: Callable[[Server], Proxy]) -> None:
    server.client.set("big", "x" * 600_000)
    proxy = make_proxy(server)
    proxy.bytes_per_s = 150_000

    async def read(connection: Connection) -> int:
        return len(await connection.one("GET", "big"))

    # Four seconds in all, twice as long as silence may last.
    assert with_connection(proxy.url, read, stall_s=2.0) == 600_000


def test_silence_in_the_middle_of_an_answer_is_one(server: Server, make_proxy: Callable[[Server], Proxy]) -> None:
    server.client.set("big", "x" * 600_000)
    proxy = make_proxy(server)
    proxy.bytes_per_s = 400_000

    async def read(connection: Connection) -> Any:
        answer = connection.post(("GET", "big"))
        await aeventually(lambda: proxy.passed_bytes > 100_000)
        proxy.loses_answers = True
        return await answer

    with pytest.raises(Exception, match="Redis did not answer for"):
        with_connection(proxy.url, read, stall_s=0.6)


def test_a_server_that_accepts_and_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        _is_given_up(f"redis://127.0.0.1:{silent.getsockname()[1]}")


def test_a_name_that_is_never_resolved_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    may_resolve = threading.Event()

    def resolve(*_: Any, **__: Any) -> Any:
        may_resolve.wait(PATIENCE_S)
        raise socket.gaierror(socket.EAI_AGAIN, "no answer")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    # The thread that resolves is waited for as the loop ends.
    _is_given_up("redis://somewhere.invalid:6379", at_end=may_resolve.set)


def _is_given_up(url: str, at_end: Callable[[], None] = lambda: None) -> None:
    reasons: list[str] = []

    async def run() -> None:
        connection = Connection(url, "test", 2.0, on_down=reasons.append)
        connection.open()
        await aeventually(lambda: reasons)
        # While nobody answers still.
        await connection.close()
        at_end()

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
    assert "no answer within 3 s" in reasons[0] or "imeout" in reasons[0]


def test_a_step_of_redis_clock_is_noticed_where_it_goes_forward() -> None:
    clock = RedisClock()
    for at_s, offset_s in ((0.0, 1000.0), (1.0, 1000.002), (2.0, 999.5), (3.0, 1000.2)):
        clock.learn(round((at_s + offset_s) * 1e6), at_s)
        assert clock.stepped_at == -math.inf
    clock.learn(round(1005.5 * 1e6), 4.0)
    assert clock.stepped_at == 4.0
    clock.learn(round(1006.5 * 1e6), 5.0)
    assert clock.stepped_at == 4.0
    # Back again.
    clock.learn(round(900 * 1e6), 6.0)
    assert clock.stepped_at == 4.0 and clock.at_us(6.0) == 900_000_000


class _Adopting:
    """An Adopt on a queue of which nobody's requests are left, or which refuses those of some."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, refused: str = "") -> None:
        self.now = 100.0
        self.asked: list[str] = []
        self.problems: list[str] = []
        self.clock = RedisClock()
        self._refused = refused
        monkeypatch.setattr(adopt_module, "now_s", lambda: self.now)
        self._adopt = Adopt(
            Keys("pshub"), self, None, Slots(SlotPool(1)), self.clock, _Silent(), lambda: "me", lambda ended: None,
            lambda outs, worker: None, lambda error: self.problems.append(str(error)),
        )  # type: ignore[arg-type]  # fmt: skip

    name = "q"

    async def adopt(self, connection: Any, lost: str, worker_id: str) -> Any:
        self.asked.append(lost)
        if lost == self._refused:
            raise ReplyError("ERR of this one")
        return Adopted(True, [], [], [], [], [])

    def beat(self, after_s: float, ended: list[str]) -> list[str]:
        self.now += after_s
        self.asked = []

        async def run() -> None:
            self._adopt.on_beat(ended)
            await self._adopt.stop()

        asyncio.run(run())
        return self.asked


class _Silent:
    def emit(self, name: str, **event: Any) -> None:
        pass


def test_after_a_step_of_redis_clock_nobody_adopts_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    adopting = _Adopting(monkeypatch)
    assert adopting.beat(1.0, ["lost"]) == []
    assert adopting.beat(1.5, ["lost"]) == ["lost"]
    adopting.clock.learn(1_000_000_000, adopting.now)
    adopting.clock.learn(1_011_000_000, adopting.now + 1)
    for after_s in (1.0, 1.0, 0.9):
        assert adopting.beat(after_s, ["lost"]) == []
    assert adopting.beat(0.2, ["lost"]) == ["lost"]


def test_one_failing_adoption_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    adopting = _Adopting(monkeypatch, refused="broken")
    assert adopting.beat(1.5, []) == []
    assert adopting.beat(1.0, ["broken", "lost"]) == ["broken", "lost"]
    assert adopting.problems == ["ERR of this one"]


@pytest.mark.strangers
def test_what_is_no_hash_holds_up_no_adoption(server: Server) -> None:
    request = json.dumps({"id": "a", "task": "echo:1.0", "result_queue": "pshub:reply:{somebody}"})
    server.client.set("pshub:{default}:held:broken", "no hash")
    server.client.hset("pshub:{default}:held:lost", "a", request)
    server.client.zadd("pshub:{default}:leases", {"broken": 1, "lost": 2})
    worker = Worker(server.url, tasks=[echo]).start()
    try:
        popped = server.client.blpop("pshub:reply:{somebody}", PATIENCE_S)
        assert popped is not None and json.loads(popped[1])["error"]["code"] == "WorkerLost"
        eventually(lambda: server.client.zcard("pshub:{default}:leases") == 1)
    finally:
        worker.stop()
