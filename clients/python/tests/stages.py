"""Where the cases of the contract play: on the Redis in memory of pshub.testing, whose clock is moved, and on a real one, where time goes by."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from conftest import Proxy, Server
from pshub import Hub, HubError, Task, Worker
from pshub.testing import InMemory

#: Each namespace once: what a case leaves behind is none of the next one's business.
_numbers = itertools.count()


class MemoryStage:
    kind = "memory"

    def __init__(self) -> None:
        self._kit = InMemory()
        self._hubs: list[Hub] = []

    def hub(self) -> Hub:
        self._hubs.append(Hub(self._kit.redis.target))
        return self._hubs[-1]

    def worker(self, *tasks: Task, **options: Any) -> Callable[[], None]:
        """Starts one; what is returned kills it."""
        return self._kit.start_worker(*tasks, **{"queue": "q", **options}).die

    def pass_(self, seconds: float) -> None:
        """Lets time go by."""
        self._kit.clock.advance(seconds)

    def go_away(self) -> None:
        self._kit.redis.go_away()

    def come_back(self) -> None:
        self._kit.redis.come_back()

    def end(self) -> None:
        for hub in self._hubs:
            hub.close()
        self._kit.close()


class GatedProxy(Proxy):
    """Has a gate: what comes while it is shut is turned away."""

    is_shut = False

    def _pass(self, source: Any, target: Any, is_answer: bool) -> None:
        if self.is_shut:
            source.close()
            target.close()
        else:
            super()._pass(source, target, is_answer)

    def shut(self, is_shut: bool) -> None:
        self.is_shut = is_shut
        if is_shut:
            self.cut()


class RealStage:
    kind = "real"

    def __init__(self, server: Server) -> None:
        self._server = server
        self._namespace = f"stage{next(_numbers)}"
        self._ends = ExitStack()
        self._shared = GatedProxy(server.port)
        self._ways = [self._shared]

    def hub(self) -> Hub:
        return self._ends.enter_context(Hub(self._shared.url, namespace=self._namespace))

    def worker(self, *tasks: Task, **options: Any) -> Callable[[], None]:
        own = GatedProxy(self._server.port)
        self._ways.append(own)
        given = {"queue": "q", "slots": 16, "job_slots": options.get("slots", 16), "namespace": self._namespace, **options}
        worker = Worker(own.url, tasks=tasks, **given).start()
        self._ends.callback(worker.stop, 0)

        def die() -> None:
            self._ways.remove(own)
            own.shut(True)
            burial = threading.Thread(target=worker.stop, args=(0,))
            burial.start()
            self._ends.callback(burial.join)

        return die

    def pass_(self, seconds: float) -> None:
        time.sleep(seconds)

    def go_away(self) -> None:
        for way in self._ways:
            way.shut(True)
        # Until that is known on this side.
        time.sleep(0.1)

    def come_back(self) -> None:
        for way in self._ways:
            way.shut(False)
        # The longest wait between two tries.
        time.sleep(1.1)

    def end(self) -> None:
        for way in self._ways:
            way.shut(False)
        self._ends.close()
        for way in self._ways:
            way.close()


Stage = MemoryStage | RealStage


@pytest.fixture(params=["memory", "real"])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    stage: Stage = MemoryStage() if request.param == "memory" else RealStage(request.getfixturevalue("shared_server"))
    yield stage
    stage.end()


def failure(wait: Callable[[], Any]) -> Any:
    """How it fails, as far as a caller goes by it; or else what it returns."""
    try:
        return {"result": wait()}
    except HubError as error:
        return error.code, error.ran


def begun(work: Callable[[], Any]) -> Callable[[], Any]:
    """Begins it on a thread of its own, because time is made to pass before it is asked for. What is returned waits for how it fails."""
    told: list[Any] = []
    thread = threading.Thread(target=lambda: told.append(failure(work)))
    thread.start()

    def end() -> Any:
        thread.join(10)
        return told[0]

    return end
