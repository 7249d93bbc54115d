"""What Redis says is held, and the worker does not know."""

from __future__ import annotations

import asyncio
from typing import Any

from pshub.wire.clock import now_s
from pshub.worker.roles.reconcile import Reconcile
from pshub.worker.slot_pool import SlotPool
from pshub.worker.slots import Slots

#: What Redis says.
HELD = ["job:a"]


class Holding:
    """A queue, and slots that know of nothing at first, while Redis says that the worker holds something."""

    def __init__(self) -> None:
        self.put_back: list[list[str]] = []
        self.released_again: list[list[str]] = []
        self.problems: list[str] = []
        self.slots = Slots(SlotPool(1))

    async def held_texts(self, *_: Any) -> list[Any]:
        return []

    async def handback(self, _connection: Any, _worker: str, _side: str, ids: list[str]) -> None:
        self.put_back.append(ids)

    async def release(self, _connection: Any, _worker: str, ids: list[str]) -> None:
        self.released_again.append(ids)

    def problem(self, where: str) -> Any:
        return lambda _error: self.problems.append(where)


def _reconcile(holding: Any) -> Reconcile:
    nothing = lambda *_: None  # noqa: E731
    return Reconcile(holding, holding, holding.slots, lambda: "w", nothing, nothing, nothing, holding.problem)


def test_two_looks_of_beats_one_behind_the_other_put_it_back() -> None:
    async def act() -> None:
        holding = Holding()
        reconcile = _reconcile(holding)
        await reconcile.look(HELD, 1, now_s())
        await asyncio.sleep(0.002)
        await reconcile.look(HELD, 2, now_s())
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
        await asyncio.sleep(0.002)
        await reconcile.look(HELD, 4, now_s())
        assert holding.put_back == [["job:a"]]

    asyncio.run(act())


def test_what_came_and_ended_between_two_looks_is_no_forgotten_end_where_the_second_beat_was_answered_before() -> None:
    async def act() -> None:
        holding = Holding()
        reconcile = _reconcile(holding)
        await reconcile.look(["r"], 1, now_s())
        holding.slots.know("r")
        await asyncio.sleep(0.002)
        sent_at = now_s()
        holding.slots.released(["r"])
        await reconcile.look(["r"], 2, sent_at)
        assert (holding.problems, holding.released_again) == ([], [])
        await asyncio.sleep(0.002)
        await reconcile.look(["r"], 3, now_s())
        assert (holding.problems, holding.released_again) == (["failover"], [["r"]])

    asyncio.run(act())


def test_a_job_that_came_and_ended_between_two_looks_does_not_go_back() -> None:
    async def act() -> None:
        holding = Holding()
        reconcile = _reconcile(holding)
        await reconcile.look(HELD, 1, now_s())
        holding.slots.know("job:a")
        await asyncio.sleep(0.002)
        sent_at = now_s()
        holding.slots.forget(HELD)
        await reconcile.look(HELD, 2, sent_at)
        assert holding.put_back == []

    asyncio.run(act())
