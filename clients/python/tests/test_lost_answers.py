"""Connections cut, answers lost."""

from __future__ import annotations

from collections.abc import Callable

from called_tasks import add, wait
from conftest import Proxy, Server, eventually
from pshub import Hub, Worker

calls: dict[str, int] = {}


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
