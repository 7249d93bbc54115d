"""Calls from hub to worker over a real Redis, in one process."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import threading
import time
from typing import Any, Iterator, List

import pytest

from conftest import Server, eventually
from pshub import (
    Aborted,
    AsyncHub,
    ConfigError,
    Context,
    Expired,
    Hub,
    HubClosed,
    HubError,
    InvalidArgs,
    InvalidResult,
    NoSuchTask,
    NoWorkers,
    PayloadTooLarge,
    TaskError,
    TaskFailed,
    Timeout,
    Worker,
    task,
)

running = {"now": 0, "most": 0}
lock = threading.Lock()


@task("echo:1.0", args={})
def echo(args: Any) -> Any:
    return args


@task("add:1.0")
def add(x: int, y: int = 2) -> int:
    return x + y


@task("add:1.1")
def add_more(x: int, y: int = 20) -> int:
    return x + y


@task("fail:1.0")
def fail(how: str = "plain") -> None:
    if how == "task":
        raise TaskError("the disk is full", retryable=True, data={"disk": 1})
    if how == "exit":
        raise SystemExit(3)
    raise ValueError("wrong")


@task("nested:1.0")
def nested(depth: int, ctx: Context) -> Any:
    if depth == 0:
        return {"caller": ctx.caller, "trace": ctx.traceparent, "left": ctx.remaining}
    return ctx.call("nested:1.0", depth=depth - 1)


@task("wait:1.0")
def wait(s: float, ctx: Context) -> bool:
    return ctx.aborted.wait(s)


@task("nested_wait:1.0")
def nested_wait(ctx: Context) -> Any:
    return ctx.call("wait:1.0", s=20, timeout=15)


@task("bad_result:1.0", result={"type": "object", "required": ["x"]})
def bad_result(how: str) -> Any:
    return {"nan": float("nan"), "big": {"x": "a" * 2_000_000}, "object": object(), "schema": {"y": 1}}[how]


@task("count:1.0")
def count(s: float) -> None:
    with lock:
        running["now"] += 1
        running["most"] = max(running["most"], running["now"])
    time.sleep(s)
    with lock:
        running["now"] -= 1


TASKS = [echo, add, add_more, fail, nested, wait, nested_wait, bad_result, count]


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


def test_versions(hub: Hub) -> None:
    assert hub.call("add:1.0", x=1) == 3
    assert hub.call("add:1", {"x": 1}) == 21
    assert hub.call("add", x=1, y=1) == 2
    assert hub.call(add, x=5) == 7
    assert add(1, y=1) == 2


@pytest.mark.parametrize(
    "value",
    [None, [], {}, [[]], {"a": []}, "Zoë 💚", "\ud800", 9007199254740993, -1.5, {"": 0}, "x" * 1_000_000, list(range(3000))],
    ids=lambda value: repr(value)[:20],
)
def test_values_arrive_as_they_were_sent(hub: Hub, value: Any) -> None:
    assert hub.call("echo:1.0", {"value": value}) == {"value": value}


def test_errors_say_what_happened(hub: Hub, worker: Worker) -> None:
    with pytest.raises(NoSuchTask, match="Did you mean echo:1.0"):
        hub.call("ecco:1.0")
    with pytest.raises(NoSuchTask, match="Known versions: add:1.0, add:1.1"):
        hub.call("add:3.0")
    with pytest.raises(NoSuchTask, match="is not a task name"):
        hub.call("a b")
    with pytest.raises(InvalidArgs) as invalid:
        hub.call("add:1.0", x="1", z=1)
    assert sorted(p["pointer"] for p in invalid.value.data["problems"]) == ["/x", "/z"]
    with pytest.raises(InvalidArgs, match="__proto__"):
        hub.call("echo:1.0", {"__proto__": 1})
    with pytest.raises(InvalidArgs, match="not JSON"):
        hub.call("echo:1.0", {"x": float("nan")})
    with pytest.raises(PayloadTooLarge):
        hub.call("echo:1.0", "x" * 1_100_000)
    with pytest.raises(TaskFailed, match="^wrong$") as failed:
        hub.call("fail:1.0")
    assert (failed.value.ran, failed.value.retryable, failed.value.http_status) == ("yes", False, 500)
    with pytest.raises(TaskFailed, match="the disk is full") as failed:
        hub.call("fail:1.0", how="task")
    assert (failed.value.retryable, failed.value.data) == (True, {"disk": 1})
    with pytest.raises(TaskFailed):
        hub.call("fail:1.0", how="exit")
    for how in ("nan", "big", "object", "schema"):
        with pytest.raises(InvalidResult):
            hub.call("bad_result:1.0", how=how)
    with pytest.raises(Expired):
        hub.call("echo:1.0", timeout=0)
    with pytest.raises(InvalidArgs):
        hub.call("echo:1.0", timeout="soon")  # type: ignore[arg-type]
    assert hub.call("echo:1.0", 1) == 1


def test_the_worker_checks_what_a_caller_did_not(hub: Hub, server: Server) -> None:
    request = {"id": "a", "task": "add:1.0", "args": {"x": "no"}, "result_queue": "pshub:reply:{someone}"}
    server.client.rpush("pshub:{default}:calls", json.dumps(request))
    server.client.rpush("pshub:{default}:bell", "1")
    _, text = server.client.blpop(["pshub:reply:{someone}"], 5)
    reply = json.loads(text)
    assert reply["error"]["code"] == "InvalidArgs" and reply["error"]["data"]["problems"][0]["pointer"] == "/x"
    eventually(lambda: server.held() == [])


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
    stats = eventually(
        lambda: [s for s in map(json.loads, server.client.hvals("pshub:stats")) if s["counters"]["expired"] == 1], 3
    )
    assert stats[0]["counters"]["ok"] == 4 and running["most"] == 4


def test_slots_are_never_exceeded(hub: Hub) -> None:
    running["most"] = 0
    for each in [hub.submit("count:1.0", s=0.002) for _ in range(150)]:
        each.result()
    assert running["most"] == 4


def test_nested_calls_inherit_deadline_and_trace(hub: Hub) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    told = hub.call("nested:1.0", depth=2, timeout=2, traceparent=trace)
    assert told["trace"] == trace and told["caller"] == "default" and 1 < told["left"] < 2


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


def test_gather(hub: Hub) -> None:
    outcomes = hub.gather(
        {"one": ("add:1.0", {"x": 1})}, two=("add:1.0", {}), three=("wait:1.0", {"s": 5}, 0.5), four=("nix", {}), timeout=2
    )
    assert outcomes["one"].ok and outcomes["one"].value == 3 and outcomes["one"].ms > 0
    assert [outcomes[name].error.code for name in ("two", "three", "four")] == ["InvalidArgs", "Timeout", "NoSuchTask"]


def test_threads_share_a_hub(hub: Hub) -> None:
    wrong = []

    def calls(base: int) -> None:
        for n in range(50):
            if hub.call("add:1.0", x=base + n) != base + n + 2:
                wrong.append(n)

    threads = [threading.Thread(target=calls, args=(base * 1000,)) for base in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_async_hub(server: Server, worker: Worker) -> None:
    async def main() -> None:
        async with AsyncHub(server.url) as hub:
            results = await asyncio.gather(*(hub.call("add:1.0", x=n) for n in range(300)))
            assert results == [n + 2 for n in range(300)]
            outcomes = await hub.gather(a=("add:1.0", {"x": 1}), b=("fail:1.0",))
            assert outcomes["a"].value == 3 and outcomes["b"].error.code == "TaskFailed"
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(hub.call("wait:1.0", s=20, timeout=20), 0.2)
            while worker.busy:
                await asyncio.sleep(0.01)
        with pytest.raises(HubClosed):
            await hub.call("add:1.0", x=1)

    asyncio.run(main())


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


def test_no_workers(server: Server, worker: Worker) -> None:
    with Hub(server.url) as hub:
        assert hub.call("add:1.0", x=1) == 3
        worker.stop()
        eventually(lambda: _code(hub, "add:1.0") == "NoWorkers", 4)
        with pytest.raises(NoWorkers, match="pshub-worker"):
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


def test_a_forked_child_has_a_hub_of_its_own(hub: Hub) -> None:
    assert hub.call("add:1.0", x=1) == 3
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        # As a prefork web server does it: the parent's hub, used in the child.
        try:
            told = json.dumps([hub.call("add:1.0", x=10), hub.id])
        except BaseException as error:
            told = json.dumps([repr(error), ""])
        os.write(writes, told.encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        result, child_id = json.loads(pipe.read())
    os.waitpid(child, 0)
    assert result == 12 and child_id != hub.id
    for n in range(20):
        assert hub.call("add:1.0", x=n) == n + 2


def test_what_a_hub_and_a_worker_hold_is_two_connections_each(server: Server, hub: Hub) -> None:
    hub.call("add:1.0", x=1)
    names = sorted(client["name"] for client in server.client.client_list() if client["name"].startswith("pshub"))
    assert names == ["pshub-hub-blocking", "pshub-hub-commands", "pshub-worker-blocking", "pshub-worker-commands"]


def test_statistics_and_cards(server: Server, hub: Hub, worker: Worker) -> None:
    hub.call("add:1.0", x=1)
    with pytest.raises(TaskFailed):
        hub.call("fail:1.0")
    card = json.loads(server.client.hget("pshub:workers", worker.id))
    assert card["slots"] == 4 and card["client"].startswith("pshub-python/") and card["tasks"]["add:1.0"] == add.digest
    declared = json.loads(server.client.hget("pshub:tasks", "add:1.0"))
    assert declared["args"] == {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 2}},
        "required": ["x"],
        "additionalProperties": False,
    }
    assert declared["result"] == {"type": "integer"} and declared["timeoutMs"] == 5000
    stats = eventually(
        lambda: [s for s in [json.loads(server.client.hget("pshub:stats", worker.id))] if s["counters"]["ok"] == 1], 3
    )[0]
    assert stats["counters"]["failed"] == 1 and stats["draining"] is False
    told = json.loads(server.client.hget("pshub:taskstats", worker.id))
    assert told["tasks"]["fail:1.0"]["errors"] == {"TaskFailed": 1}
    assert told["tasks"]["add:1.0"]["window"]["ok"] == 1
    assert sum(told["tasks"]["add:1.0"]["window"]["us"]["exec"]["counts"][1::2]) == 1


def test_recent_failures_and_callers(server: Server, worker: Worker) -> None:
    with Hub(server.url, name="shop") as shop:
        for _ in range(12):
            with pytest.raises(TaskFailed) as raised:
                shop.call("fail:1.0")
        assert shop.call("add:1.0", x=1) == 3
    seconds, micros = server.client.time()
    late = {"task": "add:1.0", "id": "late", "ttl": 5, "at": (seconds - 60) * 1_000_000}
    invalid = {"task": "add:1.0", "id": "invalid", "args": {"x": "text"}, "from": "half \ud800"}
    server.client.rpush("pshub:{default}:calls", json.dumps(late), json.dumps(invalid))
    server.client.rpush("pshub:{default}:bell", "1")

    def told() -> Any:
        failures = json.loads(server.client.hget("pshub:failures", worker.id) or "{}")
        return failures if len(failures.get("add:1.0", [])) == 2 else None

    failures = eventually(told)
    failed = failures["fail:1.0"]
    assert len(failed) == 10 and len({each["id"] for each in failed}) == 10
    newest = failed[0]
    assert newest["id"] == raised.value.id and newest["code"] == "TaskFailed" and newest["from"] == "shop"
    assert newest["message"] == raised.value.message and newest["execUs"] >= 0
    assert [each["at"] for each in failed] == sorted((each["at"] for each in failed), reverse=True)
    assert abs(newest["at"] / 1e6 - seconds) < 10
    by_id = {each["id"]: each for each in failures["add:1.0"]}
    assert by_id["late"]["code"] == "Expired" and by_id["late"]["execUs"] == 0 and "from" not in by_id["late"]
    # Half of a surrogate pair has no UTF-8, and must not keep all the others from being told.
    assert by_id["invalid"]["code"] == "InvalidArgs" and by_id["invalid"]["from"] == "half \ud800"
    stats = eventually(
        lambda: [s for s in [json.loads(server.client.hget("pshub:taskstats", worker.id))] if "add:1.0" in s["tasks"]], 3
    )[0]["tasks"]
    assert stats["fail:1.0"]["callers"] == {"shop": 12} == stats["fail:1.0"]["window"]["callers"]
    assert stats["add:1.0"]["callers"] == {"shop": 1, "": 1, "half \ud800": 1}
    worker.stop()
    assert not server.client.hexists("pshub:failures", worker.id)


def test_what_a_dead_worker_measured_is_swept(server: Server) -> None:
    for key in ("stats", "taskstats", "slow", "failures"):
        server.client.hset(f"pshub:{key}", "dead", '{"seen":1}')
    worker = Worker(server.url, tasks=[add]).start()
    try:
        for key in ("stats", "taskstats", "slow", "failures"):
            eventually(lambda key=key: not server.client.hexists(f"pshub:{key}", "dead"), 5, key)
    finally:
        worker.stop()


def test_requests_pushed_by_hand(server: Server, worker: Worker) -> None:
    client = server.client
    malformed = ["hello", "[1]", '{"task":"add:1.0","result_queue":"pshub:tasks"}', '{"at":1,"ttl":0,"id":"m1","x":NaN}']
    for text in [*malformed, '{"task":"echo:1.0","args":[],"result_queue":"pshub:reply:{byhand}"}']:
        client.rpush("pshub:{default}:calls", text)
    client.rpush("pshub:{default}:bell", "1")
    _, text = client.blpop(["pshub:reply:{byhand}"], 5)
    reply = json.loads(text)
    assert reply["result"] == [] and reply["id"].startswith("hand-")
    eventually(lambda: server.held() == [])
    request = {"id": "u1", "task": "unknown:1.0", "result_queue": "pshub:reply:{byhand}"}
    client.rpush("pshub:{default}:calls", json.dumps(request))
    client.rpush("pshub:{default}:bell", "1")
    _, text = client.blpop(["pshub:reply:{byhand}"], 8)
    assert json.loads(text)["error"]["code"] == "NoSuchTask"


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


def test_closing_a_hub_is_no_outage(server: Server, worker: Worker) -> None:
    told: List[Any] = []
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


def test_settings_that_cannot_work_are_refused(server: Server) -> None:
    for options in ({"slots": 0}, {"queue": "a b"}, {"lease": 1}, {"nix": 1}, {"statsd": "here"}, {"slots": True}):
        with pytest.raises(ConfigError):
            Worker(server.url, tasks=[echo], **options)
    for target in ("http://x", "redis://127.0.0.1/3", 5, {"db": 1}):
        with pytest.raises(ConfigError):
            Hub(target)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="twice"):
        Worker(server.url, tasks=[echo, echo])
    server.client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        with pytest.raises(ConfigError, match="allkeys-lru"):
            Worker(server.url, tasks=[echo]).start()
    finally:
        server.client.config_set("maxmemory-policy", "noeviction")


def test_nothing_is_left_running(server: Server) -> None:
    before = threading.active_count()
    worker = Worker(server.url, tasks=TASKS).start()
    with Hub(server.url) as hub:
        hub.call("add:1.0", x=1)
    worker.stop()
    eventually(lambda: threading.active_count() <= before, 3)
    gc.collect()
    assert server.leftovers() == []
