"""Jobs that are acknowledged when a replica has them, too."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conftest import Proxy, Server, eventually
from pshub import Hub, HubError, InvalidArgs, OutcomeUnknown, Worker, task
from waits import PATIENCE_S

pytestmark = pytest.mark.long

DURABLE: dict[str, Any] = {"queue": "q", "durable": "replica"}
JOBS = "pshub:{q}:jobs"
ran: list[int] = []


@task("job:1.0")
def job(n: int) -> None:
    ran.append(n)


class Replicated:
    """A master with a replica, and a hub."""

    def __init__(self, make_server: Callable[..., Server]) -> None:
        self.master = make_server("--repl-diskless-sync-delay", "0")
        self.replica = make_server("--replicaof", "127.0.0.1", str(self.master.port))
        self.hub = Hub(self.master.url)
        eventually(lambda: self.master.client.wait(1, 100) == 1, "the replica")

    def freeze(self) -> None:
        assert self.replica.process is not None
        self.replica.process.send_signal(signal.SIGSTOP)

    def close(self) -> None:
        self.hub.close()
        assert self.replica.process is not None
        self.replica.process.send_signal(signal.SIGCONT)


@pytest.fixture
def pair(make_server: Callable[..., Server]) -> Iterator[Replicated]:
    ran.clear()
    pair = Replicated(make_server)
    yield pair
    pair.close()


def is_confirmed(enqueue: Callable[[], object]) -> bool:
    """On a machine with much to do, a replica may take longer to confirm than a hub waits for it."""
    try:
        enqueue()
    except OutcomeUnknown:
        return False
    return True


def test_it_is_on_a_replica_when_it_is_acknowledged(pair: Replicated) -> None:
    confirmed = 0
    for n in range(1, 21):
        if is_confirmed(lambda: pair.hub.enqueue("job:1.0", {"n": n}, **DURABLE)):
            confirmed += 1
            assert pair.replica.client.llen(JOBS) == n
    assert confirmed > 0
    for enqueue, jobs in (
        (lambda: pair.hub.enqueue_many([("job:1.0", {"n": n}) for n in range(300)], **DURABLE), 320),
        (lambda: pair.hub.chain([("job:1.0", {"n": 1}), ("job:1.0", {"n": 2})], **DURABLE), 321),
        (lambda: pair.hub.batch([("job:1.0", {"n": 1})], then=("job:1.0", {"n": 2}), **DURABLE), 322),
    ):
        if is_confirmed(enqueue):
            assert pair.replica.client.llen(JOBS) == jobs


def test_one_that_no_replica_confirms_is_in_redis_and_holds_up_no_other_one(pair: Replicated) -> None:
    pair.hub.enqueue("job:1.0", {"n": 1}, queue="q")
    pair.freeze()
    ended: list[Any] = []

    def durable() -> None:
        try:
            ended.append(pair.hub.enqueue("job:1.0", {"n": 2}, **DURABLE))
        except HubError as error:
            ended.append(error)

    waiting = threading.Thread(target=durable)
    waiting.start()
    eventually(lambda: pair.master.client.llen(JOBS) == 2)
    pair.hub.enqueue("job:1.0", {"n": 3}, queue="q")
    waiting.join(PATIENCE_S)
    assert isinstance(ended[0], OutcomeUnknown)
    assert ended[0].message.startswith("The job is in Redis, but no replica confirmed it within 1000 ms: ")
    assert pair.master.client.llen(JOBS) == 3
    # Those that come together are told together.
    with pytest.raises(OutcomeUnknown, match="^0 of 2 jobs .*no replica"):
        pair.hub.enqueue_many([("job:1.0", {"n": n}) for n in (4, 5)], **DURABLE)


def test_one_whose_answer_was_lost_is_confirmed_when_it_is_sent_again(pair: Replicated, make_proxy: Callable[[Server], Proxy]) -> None:
    front = make_proxy(pair.master)
    with Hub(front.url) as hub:
        is_confirmed(lambda: hub.enqueue("job:1.0", {"n": 1}, **DURABLE))  # opens the connection
        front.loses_answers = True
        ended: list[Any] = []
        waiting = threading.Thread(target=lambda: ended.append(hub.enqueue("job:1.0", {"n": 2}, **DURABLE)))
        waiting.start()
        eventually(lambda: pair.replica.client.llen(JOBS) == 2)
        front.loses_answers = False
        front.cut()
        waiting.join(PATIENCE_S)
        assert len(ended) == 1 and pair.replica.client.llen(JOBS) == 2


def test_it_runs_as_any_other_and_its_hub_leaves_nothing(pair: Replicated) -> None:
    with Worker(pair.master.url, tasks=[job], queue="q"):
        pair.hub.enqueue("job:1.0", {"n": 1}, durable="replica")
        eventually(lambda: ran == [1])
        assert len(pair.master.client.keys("*enqueued*")) == 1
        pair.hub.close()
        assert pair.master.client.keys("*enqueued*") == []
        assert [each for each in pair.master.client.client_list() if each["name"].startswith("pshub-hub")] == []


def test_it_is_for_what_is_enqueued_now_and_for_replicas(pair: Replicated) -> None:
    with pytest.raises(InvalidArgs, match="durable must be 'replica', not \"disk\""):
        pair.hub.enqueue("job:1.0", {"n": 1}, queue="q", durable="disk")
    for refused in (
        lambda: pair.hub.schedule("s", {"cron": "0 0 * * *"}, "job:1.0", {"n": 1}, **DURABLE),
        lambda: pair.hub.enqueue_many([("job:1.0", {"n": 1}, {"durable": "replica"})], queue="q"),
    ):
        with pytest.raises(InvalidArgs, match="there is no option 'durable'"):
            refused()
