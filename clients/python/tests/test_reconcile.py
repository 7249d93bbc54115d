"""What Redis says is held, and the worker does not know."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from conftest import Proxy, Server
from pshub import Hub, Worker, task
from pshub.wire.clock import now_s
from pshub.worker.roles.reconcile import Reconcile
from waits import adelay

#: What Redis says.
HELD = ["job:a"]


class Holding:
    """A queue and slots: the worker holds a job that it does not know of."""

    def __init__(self) -> None:
        self.put_back: list[list[str]] = []

    async def held_texts(self, *_: Any) -> list[Any]:
        return []

    async def handback(self, _connection: Any, _worker: str, _side: str, ids: list[str]) -> None:
        self.put_back.append(ids)

    def knows(self, _id: str) -> bool:
        return False

    def was_released(self, _id: str) -> bool:
        return False


def _reconcile(holding: Any) -> Reconcile:
    nothing = lambda *_: None  # noqa: E731
    return Reconcile(holding, holding, holding, lambda: "w", nothing, nothing, nothing, lambda _: nothing)


def test_two_looks_of_beats_one_behind_the_other_put_it_back() -> None:
    async def act() -> None:
        holding = Holding()
        reconcile = _reconcile(holding)
        await reconcile.look(HELD, 1, now_s())
        await adelay(0.002, "the clock goes on")
        await reconcile.look(HELD, 2, now_s())
        assert holding.put_back == [["job:a"]]

    asyncio.run(act())


def test_it_stays_while_the_answer_of_an_earlier_claim_is_coming_in() -> None:
    async def act() -> None:
        holding = Holding()
        reconcile = _reconcile(holding)
        claimed_at = now_s()
        await adelay(0.002, "the clock goes on")
        for n in range(3):
            await reconcile.look(HELD, n, now_s(), claimed_at)
            await adelay(0.002, "the clock goes on")
        assert holding.put_back == []
        await reconcile.look(HELD, 4, now_s(), now_s())
        assert holding.put_back == [["job:a"]]

    asyncio.run(act())


def test_it_stays_as_long_as_both_looks_may_have_met_its_claim_on_its_way() -> None:
    async def act() -> None:
        holding = Holding()
        reconcile = _reconcile(holding)
        sent_at = now_s()
        await asyncio.gather(reconcile.look(HELD, 1, sent_at), reconcile.look(HELD, 2, sent_at))
        await reconcile.look(HELD, 3, sent_at)
        assert holding.put_back == []
        await adelay(0.002, "the clock goes on")
        await reconcile.look(HELD, 4, now_s())
        assert holding.put_back == [["job:a"]]

    asyncio.run(act())


def test_what_is_on_its_way_over_a_slow_link_runs_once(server: Server, make_proxy: Callable[[Server], Proxy]) -> None:
    runs: list[int] = []

    @task("large:1.0")
    def large(text: str) -> int:
        runs.append(len(text))
        return len(runs)

    proxy = make_proxy(server)
    worker = Worker(proxy.url, tasks=[large], queue="q", lease=2).start()
    with Hub(server.url) as hub:
        assert hub.call("large:1.0", {"text": "warm"}) == 1
        proxy.bytes_per_s = 250_000
        assert hub.call("large:1.0", {"text": "x" * 600_000}, timeout=20) == 2
    proxy.bytes_per_s = None
    worker.stop(grace=0)
    assert runs == [4, 600_000]
