"""Codes and statuses that handlers choose for failures which their callers are to expect, and what errors tell of themselves."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Server, eventually
from job_tasks import hub, serve  # noqa: F401
from pshub import Aborted, ConfigError, Hub, HubError, TaskError, TaskFailed, Worker, task

Serve = Callable[..., Worker]


@task("city:1.0", idempotent=True)
def city(name: str) -> str:
    raise TaskError(f"no such city: {name}", code="NoSuchCity", http_status=404, data={"name": name})


@task("broken:1.0")
def broken() -> None:
    raise TaskError("the bank is away", code="BankAway")


def test_it_is_told_and_counted_as_the_handler_chose(server: Server, hub: Hub, serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    settled: list[dict[str, Any]] = []
    hub.events.on("call:settled", settled.append)
    caplog.set_level("INFO", "pshub")
    serve(city, broken)
    with pytest.raises(TaskFailed) as failed:
        hub.call("city:1.0", name="Atlantis")
    error = failed.value
    assert (error.code, error.kind, error.http_status) == ("NoSuchCity", "TaskFailed", 404)
    assert (error.ran, error.retryable, error.data) == ("yes", False, {"name": "Atlantis"})
    told = error.to_json()
    assert (told["code"], told["ran"], told["message"]) == ("NoSuchCity", "yes", "no such city: Atlantis")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is TaskFailed and again.http_status == 404 and again.to_json() == told
    assert [(event["outcome"], event["code"]) for event in settled] == [("rejected", "NoSuchCity")]
    with pytest.raises(TaskFailed):
        hub.call("broken:1.0")
    assert [(event["outcome"], event["code"]) for event in settled[1:]] == [("failed", "BankAway")]
    failures = eventually(lambda: "".join(text for text in server.client.hvals("pshub:failures") if "BankAway" in text))
    # What handlers reject is no fault, and would leave no room for what is.
    assert "NoSuchCity" not in failures
    [stats] = [json.loads(text)["tasks"] for text in server.client.hvals("pshub:taskstats")]
    assert stats["city:1.0"]["rejected"] == {"NoSuchCity": 1} and stats["city:1.0"]["failed"] == {}
    assert stats["broken:1.0"]["failed"] == {"BankAway": 1}
    assert [
        (record.levelname, record.getMessage().split(" ")[1], record.exc_info is None) for record in caplog.records if "code=" in record.getMessage()
    ] == [("INFO", "rejected", True), ("WARNING", "failed", False)]


def test_what_a_handler_may_choose() -> None:
    chosen = TaskError("x", code="NoSuchCity", http_status=422, retryable=False, data=[1])
    again = pickle.loads(pickle.dumps(chosen))
    assert (again.code, again.http_status, again.is_final, again.data, str(again)) == ("NoSuchCity", 422, True, [1], "x")
    assert TaskError("x", code="TaskFailed", http_status=599).code == "TaskFailed"
    assert (TaskError("x").code, TaskError("x").http_status) == ("TaskFailed", None)
    with pytest.raises(ConfigError, match="^Timeout is a code that pshub itself uses"):
        TaskError("x", code="Timeout")
    for code in ("noSuchCity", "No such city", "", "N" * 65, "NoSuchCity\n", 7, ["NoSuchCity"]):
        with pytest.raises(ConfigError, match="must start with a capital letter and have at most 64 letters and digits, such as NoSuchCity; it is"):
            TaskError("x", code=code)  # type: ignore[arg-type]
    for status in (399, 600, 404.5, "404", True):
        with pytest.raises(ConfigError, match="a whole number from 400 to 599, not"):
            TaskError("x", http_status=status)  # type: ignore[arg-type]


def test_what_was_assigned_later_is_told_only_where_it_may_be(hub: Hub, serve: Serve) -> None:
    @task("lying:1.0")
    def lying() -> None:
        error = TaskError("x")
        error.code, error.http_status = "NotEnqueued", 200  # type: ignore[assignment]
        raise error

    serve(lying)
    with pytest.raises(TaskFailed) as failed:
        hub.call("lying:1.0")
    assert (failed.value.code, failed.value.http_status, failed.value.ran) == ("TaskFailed", 500, "yes")


class NoSuchStreet(TaskError):
    code = "NoSuchStreet"
    http_status = 404

    def __init__(self, street: str) -> None:
        self.street = street


@task("street:1.0", retries=0)
def street(known: bool = False) -> None:
    if known:
        raise TaskError("closed")
    raise NoSuchStreet("Elm Street")


def test_a_class_of_the_handlers_own_may_say_them_and_need_not_call_ours(hub: Hub, serve: Serve) -> None:
    serve(street, slots=1)
    job = hub.enqueue(street, tracked=True)
    with pytest.raises(TaskFailed, match="^Elm Street$") as failed:
        job.result(timeout_ms=60_000)
    assert (failed.value.code, failed.value.http_status) == ("NoSuchStreet", 404)
    # The slot is free again.
    with pytest.raises(TaskFailed, match="^Elm Street$") as failed:
        hub.call(street)
    assert (failed.value.code, failed.value.http_status) == ("NoSuchStreet", 404)


def test_what_a_class_says_is_checked_as_what_is_given() -> None:
    class Gone(TaskError):
        code = "Gone"
        http_status = 410

    assert (Gone("x").code, Gone("x").http_status, Gone("x").is_final) == ("Gone", 410, False)
    assert (Gone("x", http_status=404).http_status, Gone("x", retryable=False).is_final) == (404, True)
    Gone.code = "Timeout"
    with pytest.raises(ConfigError, match="^Timeout is a code that pshub itself uses"):
        Gone("x")


def test_what_was_given_instead_is_shown_and_cut() -> None:
    with pytest.raises(ConfigError, match='it is "École"[.]$'):
        TaskError("x", code="École")
    with pytest.raises(ConfigError, match=f'it is "{"N" * 79}…[.]$'):
        TaskError("x", code="N" * 10_000)
    with pytest.raises(ConfigError, match='to 599, not "404"[.]$'):
        TaskError("x", http_status="404")  # type: ignore[arg-type]


def test_a_call_that_is_cancelled_before_it_was_sent_was_certainly_not_run(server: Server) -> None:
    server.client.config_set("requirepass", "secret")
    server.client.execute_command("AUTH", "secret")
    try:
        # Redis does not let it in, so that nothing of it is sent.
        with Hub(server.url) as hub:
            pending = hub.submit("any:1.0", timeout=5)
            pending.cancel()
            with pytest.raises(Aborted) as given_up:
                pending.result()
            assert given_up.value.ran == "no" and given_up.value.to_json()["ran"] == "no"
            assert pickle.loads(pickle.dumps(given_up.value)).ran == "no"
    finally:
        server.client.config_set("requirepass", "")
    assert Aborted().ran == "maybe" and json.loads(json.dumps(HubError("x").to_json()))["ran"] == "yes"
