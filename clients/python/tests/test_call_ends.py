"""How a call ends that does not end well: late, given up, refused, or with its hub or its workers."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from called_tasks import TASKS, count, running
from conftest import Server, eventually
from pshub import Aborted, Hub, HubClosed, HubError, NoWorkers, Timeout, Worker


def test_deadlines(hub: Hub, server: Server) -> None:
    begun = time.monotonic()
    with pytest.raises(Timeout):
        hub.call("wait:1.0", s=10, timeout=0.3)
    assert 0.29 < time.monotonic() - begun < 0.55
    # The handler was told, so its slot is idle and nothing is held soon.
    eventually(lambda: server.held() == [], 3)


def test_what_expired_in_the_list_is_never_started(hub: Hub, server: Server) -> None:
    running["most"] = 0
    pending = [hub.submit("count:1.0", s=0.5) for _ in range(4)]
    eventually(lambda: running["now"] == 4)
    late = hub.submit("count:1.0", s=0, timeout=0.2)
    with pytest.raises(Timeout):
        late.result()
    for each in pending:
        each.result()
    stats = eventually(lambda: [s for s in map(json.loads, server.client.hvals("pshub:stats")) if s["counters"]["expired"] == 1], 3)
    assert stats[0]["counters"]["ok"] == 4 and running["most"] == 4


def test_a_nested_call_goes_with_its_outer_one(hub: Hub, worker: Worker) -> None:
    pending = hub.submit("nested_wait:1.0", timeout=20)
    eventually(lambda: worker.busy == 2)
    pending.cancel()
    with pytest.raises(Aborted):
        pending.result()
    # The inner one has 15 s, and nobody needs it any more.
    eventually(lambda: worker.busy == 0, 4)


def test_cancel_tells_the_handler(hub: Hub, worker: Worker) -> None:
    pending = hub.submit("wait:1.0", s=20, timeout=20)
    eventually(lambda: worker.busy == 1)
    pending.cancel()
    with pytest.raises(Aborted):
        pending.result()
    eventually(lambda: worker.busy == 0, 3)


def test_cancel_takes_a_waiting_request_out_of_the_list(hub: Hub, server: Server) -> None:
    blockers = [hub.submit("count:1.0", s=1.0) for _ in range(4)]
    eventually(lambda: running["now"] == 4)
    pending = hub.submit("add:1.0", x=1, timeout=20)
    eventually(lambda: server.client.llen("pshub:{default}:calls") == 1)
    pending.cancel()
    with pytest.raises(Aborted):
        pending.result()
    eventually(lambda: server.client.llen("pshub:{default}:calls") == 0, 0.9)
    for each in blockers:
        each.result()


def test_a_closed_hub_says_so(server: Server, worker: Worker) -> None:
    hub = Hub(server.url)
    pending = hub.submit("wait:1.0", s=20, timeout=20)
    eventually(lambda: worker.busy == 1)
    hub.close()
    with pytest.raises(Aborted):
        pending.result()
    with pytest.raises(HubClosed):
        hub.call("add:1.0", x=1)
    hub.close()


def test_a_closed_hub_takes_back_what_it_sent(server: Server, worker: Worker) -> None:
    hub = Hub(server.url)
    # Four slots: one waits in the list.
    pending = [hub.submit("wait:1.0", s=20, timeout=20) for _ in range(5)]
    eventually(lambda: worker.busy == 4 and server.client.llen("pshub:{default}:calls") == 1)
    # And this one is on its way.
    pending.append(hub.submit("wait:1.0", s=20, timeout=20))
    hub.close()
    assert server.client.llen("pshub:{default}:calls") == 0
    assert {type(each.exception()) for each in pending[:5]} == {Aborted}
    assert isinstance(pending[5].exception(), (Aborted, HubClosed))
    eventually(lambda: worker.busy == 0, 3)


def test_closing_a_hub_is_no_outage(server: Server, worker: Worker) -> None:
    told: list[Any] = []
    hub = Hub(server.url)
    hub.events.on("redis:down", told.append)
    hub.events.on("redis:up", told.append)
    pending = hub.submit("wait:1.0", s=5)
    eventually(lambda: worker.busy == 1)
    assert len(told) == 2
    hub.close()
    with pytest.raises(Aborted):
        pending.result()
    assert len(told) == 2


def test_no_workers(server: Server, worker: Worker) -> None:
    with Hub(server.url) as hub:
        assert hub.call("add:1.0", x=1) == 3
        worker.stop()
        eventually(lambda: _code(hub, "add:1.0") == "NoWorkers", 4)
        with pytest.raises(NoWorkers, match="pshub-worker-py"):
            hub.call("add:1.0", x=1)
    # What was called before that was known waits in the list; the next worker drops it unstarted.
    following = Worker(server.url, tasks=TASKS).start()
    eventually(lambda: server.client.llen("pshub:{default}:calls") == 0)
    following.stop()


def _code(hub: Hub, name: str) -> str:
    try:
        hub.call(name, x=1, timeout=0.2)
        return ""
    except HubError as error:
        return error.code


def test_overload_is_refused_at_once(server: Server) -> None:
    worker = Worker(server.url, tasks=[count], slots=1, queue="narrow", max_backlog=5).start()
    try:
        with Hub(server.url) as hub:
            hub.call("count:1.0", s=0.0)
            pending = [hub.submit("count:1.0", s=0.05, timeout=5) for _ in range(20)]
            outcomes = [each.outcome() for each in pending]
            codes = {each.error.code for each in outcomes if each.error}
            assert codes == {"Overloaded"} and sum(each.ok for each in outcomes) >= 5
            # Known by now: a place takes 50 ms, and this call cannot wait behind ten.
            more = [hub.submit("count:1.0", s=0.05, timeout=0.4) for _ in range(5)]
            assert {each.outcome().ok for each in more} <= {True, False}
    finally:
        worker.stop()


def test_what_is_answered_under_overload_does_not_wait_for_most_of_its_deadline(server: Server) -> None:
    worker = Worker(server.url, tasks=[count], slots=2, queue="short").start()
    try:
        with Hub(server.url) as hub:
            hub.call("count:1.0", s=0.04)
            begun, pending = time.monotonic(), []
            # Three times as many as two slots serve, for three seconds.
            while (at := len(pending) / 150) < 3:
                time.sleep(max(0.0, begun + at - time.monotonic()))
                pending.append(hub.submit("count:1.0", s=0.04, timeout=1))
            outcomes = [each.outcome() for each in pending][len(pending) // 2 :]
            answered = sorted(each.ms for each in outcomes if each.ok)
            refused = [each for each in outcomes if each.error is not None and each.error.code == "Overloaded"]
            # Fifty a second are served, and these are half of three seconds. Hubs that only look at deadlines let them wait for 750 ms.
            assert len(answered) > 40 and answered[len(answered) // 2] < 400
            assert len(answered) + len(refused) > 0.95 * len(outcomes)
    finally:
        worker.stop()
