"""Connections cut, answers lost."""

from __future__ import annotations

import threading
from collections.abc import Callable

from called_tasks import add, wait
from conftest import Proxy, Server, eventually
from pshub import Hub, HubError, Worker, task

calls: dict[str, int] = {}


@task("once:1.0")
def once(token: str) -> int:
    calls[token] = calls.get(token, 0) + 1
    return calls[token]


def test_a_claim_whose_answer_was_lost_is_found(server: Server, make_proxy: Callable[[Server], Proxy]) -> None:
    proxy = make_proxy(server)
    worker = Worker(proxy.url, tasks=[once]).start()
    try:
        with Hub(server.url) as hub:
            assert hub.call("once:1.0", token="warm") == 1
            proxy.loses_answers = True
            pending = hub.submit("once:1.0", token="lost", timeout=15)
            eventually(lambda: server.held())
            proxy.cut()
            proxy.loses_answers = False
            assert pending.result() == 1
            eventually(lambda: server.held() == [])
            assert calls["lost"] == 1
    finally:
        worker.stop()


def test_a_push_whose_answer_was_lost_runs_once(server: Server, make_proxy: Callable[[Server], Proxy]) -> None:
    proxy = make_proxy(server)
    worker = Worker(server.url, tasks=[once]).start()
    try:
        with Hub(proxy.url) as hub:
            for round in range(5):
                # Not those of a handshake, nor where the task runs.
                proxy.loses_answers_from = f'"push{round}"'
                pending = hub.submit("once:1.0", token=f"push{round}", timeout=10)
                eventually(lambda: calls.get(f"push{round}"))
                proxy.cut()
                proxy.loses_answers = False
                assert pending.result() == 1
    finally:
        worker.stop()
    assert all(calls[f"push{round}"] == 1 for round in range(5))


def test_a_reply_whose_bytes_were_lost_is_read_again(server: Server, make_proxy: Callable[[Server], Proxy]) -> None:
    proxy = make_proxy(server)
    worker = Worker(server.url, tasks=[wait, add]).start()
    try:
        with Hub(proxy.url) as hub:
            for _ in range(3):
                assert hub.call("add:1.0", x=1, timeout=10) == 3
                pending = [hub.submit("wait:1.0", s=0.2, timeout=10) for _ in range(3)]
                eventually(lambda: worker.busy == 3)
                proxy.loses_answers = True
                # Settled as far as the worker can tell, and what was moved off the list is nowhere but in the second one.
                eventually(lambda: worker.busy == 0 and server.held() == [])
                proxy.cut()
                proxy.loses_answers = False
                assert [each.result() for each in pending] == [False] * 3
    finally:
        worker.stop()


def test_cut_connections_lose_no_reply(server: Server, make_proxy: Callable[[Server], Proxy]) -> None:
    hub_side, worker_side = make_proxy(server), make_proxy(server)
    worker = Worker(worker_side.url, tasks=[add], slots=4).start()
    ended = threading.Event()
    answered: list[int] = []

    def cut() -> None:
        seen = 0
        while not ended.wait(0.3):
            # On a busy machine it may take longer to connect: then nothing would ever be answered.
            if len(answered) > seen:
                seen = len(answered)
                hub_side.cut()
                worker_side.cut()

    wrong = []

    def call(base: int) -> None:
        for n in range(60):
            try:
                if hub.call("add:1.0", x=base + n, timeout=20) != base + n + 2:
                    wrong.append(n)
                answered.append(n)
            except HubError as error:
                wrong.append(repr(error))

    try:
        with Hub(hub_side.url) as hub:
            hub.call("add:1.0", x=1)
            threading.Thread(target=cut, daemon=True).start()
            threads = [threading.Thread(target=call, args=(base * 1000,)) for base in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(90)
            ended.set()
            assert not any(thread.is_alive() for thread in threads), f"{len(answered)} of 240 calls have ended"
            assert wrong == []
            eventually(lambda: server.held() == [], 8)
    finally:
        ended.set()
        worker.stop()
